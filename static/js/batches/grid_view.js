/*
 * A grid of any number of rows, of which those in sight are in the document. The focus stays on the grid,
 * `aria-activedescendant` names the cell; what a cell shows is its owner's business.
 */
import { el, one } from "../dom.js";
import { rowWindow, scrollTopFor } from "../row_window.js";
import { placeAfter, within } from "./grid_walk.js";

/** @typedef {import("./grid_walk.js").Place} Place */
/**
 * @typedef {{
 *   height: number, paint: (cell: HTMLElement, place: Place) => void, nameRow?: (row: number) => string,
 *   onWindow?: (first: number, last: number) => void, onMove?: (place: Place) => void, onOpen?: (place: Place) => void,
 *   onKey?: (event: KeyboardEvent) => boolean, opensOnClick?: boolean,
 * }} Options height: of a row, px. onKey: whether it took the key; it is asked before the arrow keys move
 */

let grids = 0;

export class GridView {
  /**
   * @param {HTMLElement} root scrolls
   * @param {Options} options
   */
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.head = one("[data-grid-head]", root, HTMLElement);
    this.canvas = one("[data-grid-canvas]", root, HTMLElement);
    this.prefix = `grid-${(grids += 1)}`;
    this.count = 0;
    this.columns = 0;
    /** @type {Place} */
    this.active = { row: 0, column: 0 };
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    this.waiting = false;
    root.style.setProperty("--grid-row", `${options.height}px`);
    root.addEventListener("scroll", () => this.#fitSoon(), { passive: true });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    root.addEventListener("mousedown", (event) => this.#onPress(event));
    root.addEventListener(options.opensOnClick ? "click" : "dblclick", (event) => this.#placeOf(event) && options.onOpen?.(this.active));
    root.addEventListener("focus", () => this.#mark());
    new ResizeObserver(() => this.#fitSoon()).observe(root);
  }

  /**
   * @param {(Node | string)[]} heads of the columns, without that of the row's number
   * @param {{least: string, share: number}[]} widths least: a length; share: of what is left over
   */
  setColumns(heads, widths) {
    this.columns = heads.length;
    this.root.style.setProperty("--grid-columns", widths.map(({ least, share }) => `minmax(${least}, ${share}fr)`).join(" "));
    this.root.style.setProperty("--grid-least", `calc(${["var(--grid-number)", ...widths.map(({ least }) => least)].join(" + ")})`);
    this.root.setAttribute("aria-colcount", String(heads.length + 1));
    const names = heads.map((head, column) => el("div", { role: "columnheader", class: "grid-name", "aria-colindex": column + 2 }, head));
    this.head.replaceChildren(el("div", { role: "columnheader", class: "grid-number", "aria-colindex": 1 }, el("span", { class: "visually-hidden" }, "Row")), ...names);
    this.#drop();
  }

  /** @param {number} count */
  setCount(count) {
    this.count = count;
    this.canvas.style.setProperty("height", `${count * this.options.height}px`);
    this.root.setAttribute("aria-rowcount", String(count + 1));
    this.active = within(this.active, this.extent);
    this.paint();
  }

  get extent() {
    const page = Math.max(1, Math.floor((this.root.clientHeight - this.head.offsetHeight) / this.options.height) - 1);
    return { rows: this.count, columns: this.columns, page };
  }

  /** The rows in sight. */
  get window() {
    const height = Math.max(0, this.root.clientHeight - this.head.offsetHeight);
    return rowWindow({ top: this.root.scrollTop, height, row: this.options.height, count: this.count, spare: 4 });
  }

  /** @param {Place} place */
  cellAt({ row, column }) {
    const cell = this.shown.get(row)?.children[column + 1];
    return cell instanceof HTMLElement ? cell : null;
  }

  /** @param {Place} place */
  moveTo(place) {
    this.active = within(place, this.extent);
    this.reveal();
    this.#fit();
    this.options.onMove?.(this.active);
  }

  focus() {
    this.root.focus({ preventScroll: true });
  }

  #fitSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.#fit();
    });
  }

  /** Brings the rows that came into sight into the document, and takes the others out. */
  #fit() {
    const { first, last } = this.window;
    for (const [row, element] of this.shown) {
      if (row >= first && row < last) continue;
      this.shown.delete(row);
      element.remove();
    }
    for (let row = first; row < last; row += 1) {
      if (this.shown.has(row)) continue;
      const element = this.#newRow(row);
      this.shown.set(row, element);
      this.canvas.append(element);
      this.#paintRow(row, element);
    }
    this.#mark();
    this.options.onWindow?.(first, last);
  }

  /** What is in sight, anew. */
  paint() {
    for (const [row, element] of this.shown) if (row < this.count) this.#paintRow(row, element);
    this.#fit();
  }

  /** @param {number} row @param {HTMLElement} element */
  #paintRow(row, element) {
    for (let column = 0; column < this.columns; column += 1) {
      this.options.paint(/** @type {HTMLElement} */ (element.children[column + 1]), { row, column });
    }
    element.children[0].textContent = this.options.nameRow?.(row) ?? (row + 1).toLocaleString();
  }

  /** @param {number} row */
  #newRow(row) {
    const number = el("div", { role: "rowheader", class: "grid-number", "aria-colindex": 1 });
    const cells = Array.from({ length: this.columns }, (_, column) =>
      el("div", { role: "gridcell", class: "grid-cell", id: `${this.prefix}-${row}-${column}`, "aria-colindex": column + 2, "data-row": row, "data-column": column }),
    );
    const element = el("div", { role: "row", class: "grid-row", "aria-rowindex": row + 2 }, number, ...cells);
    element.style.setProperty("inset-block-start", `${row * this.options.height}px`);
    return element;
  }

  #drop() {
    this.shown.clear();
    this.canvas.replaceChildren();
    this.#fitSoon();
  }

  #mark() {
    for (const cell of this.canvas.querySelectorAll(".is-active")) cell.classList.remove("is-active");
    const cell = this.cellAt(this.active);
    cell?.classList.add("is-active");
    if (cell) this.root.setAttribute("aria-activedescendant", cell.id);
    else this.root.removeAttribute("aria-activedescendant");
  }

  /** Scrolls no further than it must for the active cell to be seen. */
  reveal() {
    const { root, head, options } = this;
    const height = root.clientHeight - head.offsetHeight;
    root.scrollTop = scrollTopFor(this.active.row, { top: root.scrollTop, height, row: options.height });
    const name = head.children[this.active.column + 1];
    const fixed = /** @type {HTMLElement} */ (head.children[0]).offsetWidth;
    if (!(name instanceof HTMLElement)) return;
    const start = name.offsetLeft - fixed;
    const end = name.offsetLeft + name.offsetWidth - root.clientWidth;
    if (root.scrollLeft > start) root.scrollLeft = start;
    else if (root.scrollLeft < end) root.scrollLeft = Math.min(end, start);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.target !== this.root || event.defaultPrevented || this.options.onKey?.(event)) return;
    const place = placeAfter(event, this.active, this.extent);
    if (place) this.moveTo(place);
    else if (event.key === "Enter") this.options.onOpen?.(this.active);
    else return;
    event.preventDefault();
  }

  /** @param {Event} event */
  #placeOf(event) {
    const cell = /** @type {Element} */ (event.target).closest("[data-column]");
    if (!(cell instanceof HTMLElement)) return null;
    return { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
  }

  /** @param {MouseEvent} event */
  #onPress(event) {
    const place = this.#placeOf(event);
    if (place && (place.row !== this.active.row || place.column !== this.active.column)) this.moveTo(place);
  }
}
