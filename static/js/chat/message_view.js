/* One message as a row of the thread: bubble, time, mark, and the button of its menu. */
import { el, icon } from "../dom.js";
import { showBody } from "./body_view.js";
import { card } from "./card.js";

/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./outbox.js").Waiting} Waiting */

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const MARKS = /** @type {Record<string, [string, string]>} */ ({
  sending: ["clock", "Sending"],
  sent: ["check", "Sent"],
  delivered: ["check-check", "Delivered"],
  read: ["check-check", "Read"],
  failed: ["circle-alert", "Not sent"],
});

/** @param {string} iso */
function timeOf(iso) {
  const moment = new Date(iso);
  return el("time", { datetime: iso, title: exact.format(moment) }, clock.format(moment));
}

/** @param {string} mark */
function markElement(mark) {
  const [name, words] = MARKS[mark];
  return el("span", { class: "mark", "data-mark": mark, title: words }, icon(name), el("span", { class: "visually-hidden" }, words));
}

/** @param {HTMLElement} row @param {string} mark */
export function paintMark(row, mark) {
  const before = row.querySelector("[data-mark]");
  if (before && before.getAttribute("data-mark") !== mark) before.replaceWith(markElement(mark));
}

/**
 * @param {Message} message
 * @param {{own: boolean, name: string, mark: string, cards: string}} options
 * @returns {HTMLElement}
 */
export function messageRow(message, { own, name, mark, cards }) {
  const bubble = el("div", { class: "bubble" });
  if (message.deleted) {
    bubble.classList.add("is-deleted");
    bubble.append(el("p", {}, "Message deleted"));
  } else {
    if (message.body) showBody(bubble, message.body);
    if (message.reference) bubble.prepend(card(message.reference, cards));
  }
  const meta = el("p", { class: "message-meta" }, timeOf(message.created_at));
  if (message.edited_at && !message.deleted) meta.append(el("span", { title: exact.format(new Date(message.edited_at)) }, "edited"));
  if (own) meta.append(markElement(mark));
  const tools = el(
    "button",
    { class: "button button-quiet button-icon button-small message-tools", type: "button", "data-tools": true, "aria-haspopup": "menu", "aria-label": "Actions for this message" },
    icon("ellipsis"),
  );
  const row = el("li", { class: `message${own ? " is-own" : ""}`, "data-message": message.id }, el("span", { class: "visually-hidden" }, own ? "You" : name), bubble);
  if (!message.deleted) meta.append(tools);
  row.append(meta);
  return row;
}

/** @param {Waiting} waiting @returns {HTMLElement} */
export function waitingRow(waiting) {
  const bubble = el("div", { class: "bubble" });
  showBody(bubble, waiting.body);
  const failed = Boolean(waiting.problem);
  const meta = el("p", { class: "message-meta" });
  if (failed) {
    const button = (/** @type {string} */ action, /** @type {string} */ words) =>
      el("button", { class: "button button-small", type: "button", "data-waiting-action": action }, words);
    meta.append(markElement("failed"), el("span", { class: "is-bad" }, `Not sent. ${waiting.problem}`), button("retry", "Try again"), button("edit", "Edit"), button("discard", "Discard"));
  } else {
    meta.append(timeOf(waiting.at), markElement("sending"));
  }
  const state = failed ? "is-failed" : "is-pending";
  return el("li", { class: `message is-own ${state}`, "data-waiting": waiting.id }, el("span", { class: "visually-hidden" }, "You"), bubble, meta);
}
