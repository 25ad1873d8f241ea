/*
 * What a message points at: a version, a run, a request for access. The server draws the card for who may see it, each
 * time anew; chat knows its kind and its id. `<div class="card" data-card-address="...">` is filled by `fillCards`.
 */
import { ApiError, address, call, callText } from "../api.js";
import { el, icon } from "../dom.js";
import { toastError } from "../toast.js";

/** For lines that have no room for a card. */
export const REFERENCE_WORDS = /** @type {Record<string, string>} */ ({
  version: "A version of a prompt",
  run: "A run of a prompt",
  access_request: "A request for access",
});
/** Access is given and taken while a page is open: what was drawn so long ago is drawn anew while it is in view. */
const FRESH_MS = 25_000;
const LOOK_EVERY_MS = 30_000;

/** When each card was drawn last. @type {WeakMap<Element, number>} */
const drawn = new WeakMap();
const sight = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) void draw(/** @type {HTMLElement} */ (target));
  }
});

/**
 * @param {{kind: string, id: string}} reference
 * @param {string} cards where cards are served; "" if nothing serves them
 * @returns {HTMLElement}
 */
export function card(reference, cards) {
  const words = el("span", {}, REFERENCE_WORDS[reference.kind] ?? "Something of another kind");
  const where = cards ? `${cards}${reference.kind}/${reference.id}/` : undefined;
  const box = el("div", { class: "card", "data-card": reference.kind, "data-card-address": where }, icon("file-text"), words);
  if (where) watch(box);
  return box;
}

/** @param {HTMLElement} box */
function watch(box) {
  box.addEventListener("submit", (event) => void submit(box, event));
  sight.observe(box);
}

/** Those that are in the page as the server sent it. */
export function fillCards() {
  for (const box of document.querySelectorAll("main [data-card-address]")) watch(/** @type {HTMLElement} */ (box));
}

/** Cards on the screen say what is so now. */
function lookAgain() {
  if (document.hidden) return;
  for (const box of document.querySelectorAll("main [data-card-address]")) {
    const { top, bottom } = box.getBoundingClientRect();
    if (bottom > 0 && top < innerHeight) void draw(/** @type {HTMLElement} */ (box));
  }
}

document.addEventListener("visibilitychange", lookAgain);
window.addEventListener("focus", lookAgain);
setInterval(lookAgain, LOOK_EVERY_MS);

/** @param {HTMLElement} box @param {boolean} [now] */
async function draw(box, now = false) {
  const path = box.dataset.cardAddress ?? "";
  if (!now && Date.now() - (drawn.get(box) ?? 0) < FRESH_MS) return;
  drawn.set(box, Date.now());
  try {
    const page = new DOMParser().parseFromString(await callText(path), "text/html");
    box.classList.add("is-drawn");
    box.replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) hide(box, path);
    else drawn.delete(box);
  }
}

/** @param {HTMLElement} box @param {string} path */
function hide(box, path) {
  box.classList.remove("is-drawn");
  const asks = box.dataset.card !== "access_request" && !box.querySelector("[data-asked]");
  if (box.querySelector("[data-asked]")) return;
  box.replaceChildren(icon("file-text"), el("span", {}, "You may not see this, or it is gone."), ...(asks ? [askButton(path)] : []));
}

/** @param {string} path */
function askButton(path) {
  const button = el("button", { class: "button button-small", type: "button", "data-ask": true }, "Ask for access");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await call(address(`${path}ask/`), { method: "POST" });
      button.replaceWith(el("span", { class: "faint", "data-asked": true, role: "status" }, "Asked. The owner decides."));
    } catch (error) {
      button.disabled = false;
      toastError(error);
    }
  });
  return button;
}

/* The forms of a card, such as "Give access", need no other page. */
/** @param {HTMLElement} box @param {SubmitEvent} event */
async function submit(box, event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  const pairs = [...fields].map(([name, value]) => [name, String(value)]);
  const file = new Blob([new URLSearchParams(pairs).toString()], { type: "application/x-www-form-urlencoded" });
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    await callText(form.action, { method: "POST", file });
  } catch (error) {
    toastError(error);
  }
  await draw(box, true);
}
