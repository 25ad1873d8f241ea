/* Notices at the top of the editor that stay until they are answered. */
import { el, fromTemplate, one } from "./dom.js";

/**
 * @param {string} text
 * @param {{tone?: "plain" | "warn", actions?: {label: string, action: () => void}[], name?: string}} [options] a notice replaces the one of the same name
 */
export function notice(text, { tone = "plain", actions = [], name = "" } = {}) {
  const region = one("[data-notices]");
  const box = fromTemplate("notice");
  if (name) dropNotice(name);
  box.dataset.name = name;
  box.classList.toggle("is-warn", tone === "warn");
  one(".notice-text", box).textContent = text;
  for (const { label, action } of actions) {
    const button = el("button", { class: "button button-small", type: "button" }, label);
    button.addEventListener("click", () => {
      box.remove();
      action();
    });
    one("[data-notice-actions]", box).append(button);
  }
  one("[data-notice-close]", box).addEventListener("click", () => box.remove());
  region.append(box);
}

/** @param {string} name */
export function dropNotice(name) {
  for (const box of document.querySelectorAll("[data-notices] > .notice")) {
    if (/** @type {HTMLElement} */ (box).dataset.name === name) box.remove();
  }
}
