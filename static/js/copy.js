/* <button data-copy="selector">: copies the text of that element and says so in the button. */

const SAID_MS = 1500;

/**
 * @param {string} text
 * @returns {Promise<void>}
 */
async function toClipboard(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain http on a home network has no clipboard API. `copy` events do work there.
  const listener = (/** @type {ClipboardEvent} */ event) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", listener, { once: true });
  document.execCommand("copy");
}

/**
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copyFrom(button, text) {
  await toClipboard(text);
  const label = button.querySelector("[data-copy-label]") ?? button;
  const before = label.textContent;
  label.textContent = "Copied";
  setTimeout(() => {
    label.textContent = before;
  }, SAID_MS);
}

export function bindCopy() {
  document.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-copy]");
    if (!(button instanceof HTMLElement)) return;
    const source = document.querySelector(button.dataset.copy ?? "");
    if (source) void copyFrom(button, source instanceof HTMLInputElement ? source.value : (source.textContent ?? ""));
  });
}
