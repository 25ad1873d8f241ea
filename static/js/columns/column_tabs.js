/* On a phone one column is seen at a time: tabs that lead to each and say how it is. */
import { afterQuiet, el, one } from "../dom.js";
import { LETTERS } from "./overrides.js";
import { stateOf, stateWords } from "./spread.js";

/** @typedef {import("./column.js").ColumnView} ColumnView */

const QUIET_MS = 80;

export class ColumnTabs {
  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} list of the columns, which is swiped
   * @param {(index: number) => void} onChoose
   */
  constructor(root, list, onChoose) {
    this.root = root;
    this.list = list;
    /** @type {ColumnView[]} */
    this.columns = [];
    root.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("button");
      if (button) onChoose(Number(button.value));
    });
    list.addEventListener("scroll", afterQuiet(() => this.paint(), QUIET_MS), { passive: true });
  }

  /** @param {ColumnView[]} columns */
  offer(columns) {
    this.columns = columns;
    this.root.replaceChildren(...columns.map((_column, index) => el("button", { type: "button", value: index }, el("span", { class: "visually-hidden" }, "Column "), LETTERS[index], el("span", { class: "state" }))));
    this.paint();
  }

  paint() {
    const here = Math.abs(Math.round(this.list.scrollLeft / Math.max(1, this.list.clientWidth)));
    for (const [index, column] of this.columns.entries()) {
      const tab = one(`[value="${index}"]`, this.root);
      tab.setAttribute("aria-pressed", String(index === here));
      column.element.toggleAttribute("data-here", index === here);
      const told = stateOf(column.runs);
      const state = one(".state", tab, HTMLElement);
      state.dataset.state = told.state;
      state.textContent = told.failed > 0 ? `${told.failed} failed` : "";
      tab.setAttribute("title", stateWords(told));
    }
  }
}
