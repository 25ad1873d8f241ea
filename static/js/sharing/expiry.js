/* When something ends: chosen in the time of whoever looks, kept as an instant. */
import { ApiError } from "../api.js";
import { one } from "../dom.js";

const DAY_MS = 86_400_000;
const withSeconds = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const words = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

/** @param {Date} moment @returns {string} with the zone it is said in */
export function exactWords(moment) {
  return words.format(moment);
}

/** Says moments exactly, in local time; <time data-exact="seconds"> to the second. @param {ParentNode} [within] */
export function paintMoments(within = document) {
  for (const element of /** @type {NodeListOf<HTMLTimeElement>} */ (within.querySelectorAll("time[data-exact]"))) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.getTime())) element.textContent = element.dataset.exact === "seconds" ? withSeconds.format(moment) : exactWords(moment);
  }
}

/**
 * What <select data-expiry-choice> and the field beside it say.
 * @param {string} choice "" never, "keep", "at", or a number of days
 * @param {string} at of an <input type=datetime-local>: local time without a zone
 * @param {number} now in ms
 * @returns {string | null | undefined} the instant; null for never; undefined for no change; "" for a time not written yet
 */
export function instantOf(choice, at, now) {
  if (choice === "keep") return undefined;
  if (choice === "") return null;
  if (choice !== "at") return new Date(now + Number(choice) * DAY_MS).toISOString();
  const moment = new Date(at);
  return Number.isNaN(moment.getTime()) ? "" : moment.toISOString();
}

/** @param {HTMLElement} field */
function paint(field) {
  const choice = one("[data-expiry-choice]", field, HTMLSelectElement).value;
  const at = one("[data-expiry-at]", field, HTMLInputElement);
  at.hidden = choice !== "at";
  at.required = choice === "at";
  const instant = instantOf(choice, at.value, Date.now());
  one("[data-expiry-words]", field).textContent = instant ? `Until ${exactWords(new Date(instant))}` : "";
}

/** @param {ParentNode} root */
export function bindExpiry(root) {
  root.addEventListener("input", (event) => {
    const field = /** @type {Element} */ (event.target).closest("[data-expiry]");
    if (field instanceof HTMLElement) paint(field);
  });
}

/**
 * Throws for a time that was to be chosen and was not: it must not become "never".
 * @param {HTMLFormElement} form
 * @returns {string | null | undefined}
 */
export function expiryOf(form) {
  const field = one("[data-expiry]", form, HTMLElement);
  const instant = instantOf(one("[data-expiry-choice]", field, HTMLSelectElement).value, one("[data-expiry-at]", field, HTMLInputElement).value, Date.now());
  if (instant === "") throw new ApiError({ message: "Say when it ends, or choose Never.", code: "no_expiry", status: 1 });
  return instant;
}
