/* Moving messages: dragged by their grip, or with Alt and the arrow keys on anything in their gutter. */
import { el } from "../dom.js";

const KIND = "application/x-playground-message";

/**
 * @param {HTMLElement} root the list; its children are messages
 * @param {(from: HTMLElement, before: HTMLElement | null) => void} onDrop before: the message that comes after it; null at the end
 * @param {(message: HTMLElement, step: number) => void} onStep
 */
export function bindOrder(root, onDrop, onStep) {
  const mark = el("div", { class: "block-drop", "aria-hidden": true });
  /** @type {HTMLElement | null} */
  let dragged = null;
  const messageOf = (/** @type {EventTarget | null} */ target) =>
    target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest(".block")) : null;

  root.addEventListener("dragstart", (event) => {
    const grip = event.target instanceof Element && event.target.closest("[data-block-grip]");
    if (!grip || !event.dataTransfer) return;
    dragged = messageOf(grip);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData(KIND, "");
    dragged?.setAttribute("data-dragged", "");
  });
  root.addEventListener("dragover", (event) => {
    if (!dragged || !event.dataTransfer?.types.includes(KIND)) return;
    event.preventDefault();
    const over = messageOf(event.target);
    if (!over || over.dataset.role === "system") return;
    const box = over.getBoundingClientRect();
    over[event.clientY < box.top + box.height / 2 ? "before" : "after"](mark);
  });
  root.addEventListener("drop", (event) => {
    if (!dragged || !mark.isConnected) return;
    event.preventDefault();
    const next = /** @type {HTMLElement | null} */ (mark.nextElementSibling);
    mark.remove();
    if (next !== dragged) onDrop(dragged, next);
  });
  root.addEventListener("dragend", () => {
    mark.remove();
    dragged?.removeAttribute("data-dragged");
    dragged = null;
  });
  root.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !event.altKey || event.isComposing || event.keyCode === 229) return;
    const gutter = event.target instanceof Element && event.target.closest(".block-gutter");
    const message = gutter && messageOf(gutter);
    if (!message || message.dataset.role === "system") return;
    event.preventDefault();
    onStep(message, step);
  });
}
