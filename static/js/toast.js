/* <div data-toasts popover="manual">: what just happened, above everything, gone after a while unless it is an error. */
import { el, icon, one } from "./dom.js";
import { ApiError } from "./api.js";

const STAYS_MS = 6000;
const ICONS = { good: "circle-check", warn: "triangle-alert", bad: "circle-alert" };

function region() {
  return one("[data-toasts]", document, HTMLElement);
}

/* A popover shown last lies on top, so it is shown again after a dialog opened. */
function lift() {
  const toasts = region();
  if (typeof toasts.showPopover !== "function") return;
  if (toasts.matches(":popover-open")) toasts.hidePopover();
  if (toasts.childElementCount > 0) toasts.showPopover();
}

/** @param {Element} toast */
function dismiss(toast) {
  toast.remove();
  lift();
}

/**
 * @param {string} text
 * @param {{tone?: "good" | "warn" | "bad", more?: string}} [options]
 */
export function toast(text, { tone = "good", more = "" } = {}) {
  const words = el("div", { class: "toast-text" }, text);
  if (more) words.append(el("div", { class: "toast-more" }, more));
  const close = { class: "button button-quiet button-icon button-small", type: "button", "data-toast-close": true, "aria-label": "Dismiss" };
  const box = el("div", { class: `toast is-${tone}`, "data-toast": true }, icon(ICONS[tone]), words, el("button", close, icon("x")));
  if (tone === "bad") box.setAttribute("role", "alert");
  region().append(box);
  lift();
  if (tone !== "bad") setTimeout(() => dismiss(box), STAYS_MS);
}

/** Removes what earlier actions said: a new one begins. */
export function clearToasts() {
  region().replaceChildren();
  lift();
}

/**
 * Says what a failed action said of itself.
 * @param {unknown} error
 */
export function toastError(error) {
  if (error instanceof ApiError) {
    toast(error.sentence, { tone: "bad", more: error.requestId && `Request ${error.requestId}` });
    return;
  }
  toast("Something in this page broke. Your text is kept in this browser; reload the page.", { tone: "bad" });
  console.error(error);
}

export function bindToasts() {
  const toasts = region();
  toasts.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-toast-close]");
    const box = button?.closest("[data-toast]");
    if (box) dismiss(box);
  });
  lift();
}
