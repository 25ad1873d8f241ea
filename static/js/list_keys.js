/* <div data-list> with links [data-row-link]: J and K or the arrows move, Enter opens (the link's own doing). */
import { bindKey } from "./keys.js";

/** @param {number} step */
function move(step) {
  const links = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-list] [data-row-link]")]);
  if (links.length === 0) return;
  const here = links.findIndex((link) => link === document.activeElement);
  const next = here === -1 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, here + step));
  links[next].focus();
}

export function bindList() {
  if (!document.querySelector("[data-list]")) return;
  bindKey("j", "Next row", () => move(1));
  bindKey("k", "Previous row", () => move(-1));
  bindKey("arrowdown", "", () => move(1));
  bindKey("arrowup", "", () => move(-1));
}
