/*
 * <button data-opens="id"> opens <dialog id="id">; <button data-closes> or a click beside it closes it;
 * data-open-at-once opens it with the page. The browser
 * gives Esc, the focus trap and the return of focus.
 */

/** @param {HTMLDialogElement} dialog */
export function openDialog(dialog) {
  if (!dialog.open) dialog.showModal();
  const first = dialog.querySelector("[data-focus]");
  if (first instanceof HTMLElement) first.focus();
  if (first instanceof HTMLInputElement) first.select();
}

/** The scripts of the page have run: before that, a form in a dialog would be sent by the browser itself, into nothing. */
let isReady = document.readyState === "complete";
document.addEventListener("DOMContentLoaded", () => (isReady = true), { once: true });

/** @param {HTMLDialogElement} dialog */
function openWhenReady(dialog) {
  if (isReady) openDialog(dialog);
  else document.addEventListener("DOMContentLoaded", () => openDialog(dialog), { once: true });
}

/**
 * @param {MouseEvent} event
 */
function onClick(event) {
  const target = /** @type {Element} */ (event.target);
  const opener = target.closest("[data-opens]");
  const dialog = opener && document.getElementById(opener.getAttribute("data-opens") ?? "");
  if (dialog instanceof HTMLDialogElement) openWhenReady(dialog);
  if (target.closest("[data-closes]")) target.closest("dialog")?.close();
}

/** @param {MouseEvent} event */
function onPress(event) {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement)) return;
  const box = dialog.getBoundingClientRect();
  const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
  if (!inside) dialog.close();
}

export function bindDialogs() {
  document.addEventListener("click", onClick);
  document.addEventListener("mousedown", onPress);
  const wanted = document.querySelector("dialog[data-open-at-once]");
  if (wanted instanceof HTMLDialogElement) openWhenReady(wanted);
}
