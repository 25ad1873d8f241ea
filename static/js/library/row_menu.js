/* The menu of one row, opened beside its button; arrows move in it. */
import { one } from "../dom.js";
import { rowOf } from "./prompts.js";

/** @param {(action: string, rows: import("./prompts.js").Row[]) => void} onAction */
export function bindRowMenu(onAction) {
  const menu = one("#row-menu", document, HTMLElement);
  /** @type {HTMLElement | null} */
  let opener = null;
  one("[data-list]").addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-row-menu]");
    if (!(button instanceof HTMLElement)) return;
    opener = button;
    menu.showPopover();
    place(menu, button);
    menuItems(menu)[0]?.focus();
  });
  menu.addEventListener("click", (event) => {
    const action = /** @type {Element} */ (event.target).closest("button")?.value;
    const row = opener?.closest("[data-prompt]");
    menu.hidePopover();
    opener?.focus();
    if (action && row) onAction(action, [rowOf(row)]);
  });
  menu.addEventListener("keydown", (event) => moveInMenu(menu, event));
}

/** @param {HTMLElement} menu */
function menuItems(menu) {
  return /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("[role=menuitem]:not([hidden])")]);
}

/**
 * Below its button, or above where there is no room.
 * @param {HTMLElement} menu
 * @param {HTMLElement} button
 */
export function place(menu, button) {
  const box = button.getBoundingClientRect();
  const below = box.bottom + 4 + menu.offsetHeight < innerHeight;
  menu.style.setProperty("left", `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`);
  menu.style.setProperty("top", `${below ? box.bottom + 4 : Math.max(8, box.top - menu.offsetHeight - 4)}px`);
}

/**
 * @param {HTMLElement} menu
 * @param {KeyboardEvent} event
 */
export function moveInMenu(menu, event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const items = menuItems(menu);
  const here = items.findIndex((item) => item === document.activeElement);
  items[(here + step + items.length) % items.length]?.focus();
}
