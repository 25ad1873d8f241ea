/* Boxes before the rows: one, a range with Shift, or all of the page; what is chosen can be acted on at once. */
import { one } from "../dom.js";
import { bindKey } from "../keys.js";
import { rowOf } from "./prompts.js";

export class Selection {
  /** @param {(action: string, rows: import("./prompts.js").Row[]) => void} onAction */
  constructor(onAction) {
    this.bar = one("[data-bulk]", document, HTMLElement);
    this.all = one("[data-select-all]", this.bar, HTMLInputElement);
    this.actions = one("[data-bulk-actions]", this.bar, HTMLElement);
    this.boxes = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("[data-select]")]);
    this.last = -1;
    one("[data-list]").addEventListener("click", (event) => this.#clicked(/** @type {MouseEvent} */ (event)));
    this.all.addEventListener("change", () => {
      for (const box of this.boxes) box.checked = this.all.checked;
      this.#paint();
    });
    this.actions.addEventListener("click", (event) => {
      const action = /** @type {Element} */ (event.target).closest("button")?.value;
      if (action) onAction(action, this.rows);
    });
    bindKey("x", "Select this row", () => this.#toggleFocused());
    // The browser restores boxes when one comes back to the page.
    window.addEventListener("pageshow", () => this.#paint());
    this.#paint();
  }

  get rows() {
    return this.boxes.filter((box) => box.checked).map((box) => rowOf(/** @type {Element} */ (box.closest("[data-prompt]"))));
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const at = this.boxes.findIndex((box) => box === event.target);
    if (at < 0) return;
    if (event.shiftKey && this.last >= 0) {
      for (const box of this.boxes.slice(Math.min(at, this.last), Math.max(at, this.last))) box.checked = this.boxes[at].checked;
    }
    this.last = at;
    this.#paint();
  }

  #toggleFocused() {
    const box = document.activeElement?.closest("[data-prompt]")?.querySelector("[data-select]");
    if (!(box instanceof HTMLInputElement)) return;
    box.checked = !box.checked;
    this.#paint();
  }

  #paint() {
    const count = this.boxes.filter((box) => box.checked).length;
    this.all.checked = count > 0 && count === this.boxes.length;
    this.all.indeterminate = count > 0 && count < this.boxes.length;
    this.actions.hidden = count === 0;
    one("[data-bulk-count]", this.bar).textContent = count === 0 ? "Select" : `${count.toLocaleString()} selected`;
    for (const box of this.boxes) box.closest("[data-prompt]")?.classList.toggle("is-selected", box.checked);
  }
}
