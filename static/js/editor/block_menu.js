/* The menu of content blocks that a message may get, opened beside its button. */
import { el, one } from "../dom.js";
import { moveInMenu, place } from "../library/row_menu.js";
import { titleOf } from "./content_blocks.js";

/** @type {{button: HTMLElement, onChoose: (type: string) => void} | null} */
let open = null;

/** @returns {HTMLElement} */
function menu() {
  const found = one("#block-menu", document, HTMLElement);
  if (found.dataset.bound) return found;
  found.dataset.bound = "yes";
  found.addEventListener("keydown", (event) => moveInMenu(found, event));
  found.addEventListener("click", (event) => {
    const type = /** @type {Element} */ (event.target).closest("button")?.value;
    const asked = open;
    found.hidePopover();
    if (type) asked?.onChoose(type);
    else asked?.button.focus();
  });
  return found;
}

/**
 * @param {HTMLElement} button
 * @param {string[]} types
 * @param {(type: string) => void} onChoose
 */
export function openBlockMenu(button, types, onChoose) {
  const box = menu();
  open = { button, onChoose };
  const items = types.map((type) => el("button", { class: "menu-item", type: "button", role: "menuitem", value: type }, titleOf({ type })));
  box.replaceChildren(...items);
  box.showPopover();
  place(box, button);
  items[0]?.focus();
}
