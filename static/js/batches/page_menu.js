/* The menu of a page: opened by its button, walked by the arrow keys, closed by what is chosen. */
import { one } from "../dom.js";
import { moveInMenu, place } from "../library/row_menu.js";

/** @param {string} id of the menu, which its button names */
export function bindPageMenu(id) {
  const menu = one(`#${id}`, document, HTMLElement);
  const button = one(`[popovertarget="${id}"]`, document, HTMLElement);
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "open") return;
    place(menu, button);
    one("[role=menuitem]:not([hidden])", menu, HTMLElement).focus();
  });
  menu.addEventListener("keydown", (event) => moveInMenu(menu, event));
  menu.addEventListener("click", (event) => {
    if (/** @type {Element} */ (event.target).closest("[role=menuitem]")) menu.hidePopover();
  });
}
