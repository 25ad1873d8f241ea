/*
 * The tree as a list that is only as large as its window: rows in sight are in the document, lines are one SVG. It is
 * a listbox: the focus stays on the list, `aria-activedescendant` names the row.
 */
import { one } from "./dom.js";
import { rowWindow, scrollTopFor } from "./row_window.js";
import { draw } from "./tree_drawing.js";
import { drawingWidth, edgesOf, gridFor } from "./tree_lanes.js";
import { NO_TREE, TreeModel } from "./tree_model.js";
import { treeRow } from "./tree_row.js";

const ROW = 28;
const TOUCH_ROW = 44;
const MARKS = 2;

export class TreeView {
  /**
   * @param {HTMLElement} list
   * @param {() => void} onChange the active row or the marks changed
   */
  constructor(list, onChange) {
    this.list = list;
    this.onChange = onChange;
    this.canvas = one("[data-tree-canvas]", list, HTMLElement);
    this.svg = one("[data-tree-lines]", list, SVGSVGElement);
    this.model = new TreeModel(NO_TREE);
    /** @type {import("./tree_lanes.js").Edge[]} */
    this.edges = [];
    this.row = matchMedia("(pointer: coarse)").matches ? TOUCH_ROW : ROW;
    this.grid = gridFor(1, this.row);
    this.current = 0;
    this.active = 0;
    /** @type {number[]} marked for comparing, oldest mark first */
    this.marks = [];
    /** @type {Map<number, HTMLElement>} by row */
    this.shown = new Map();
    this.waiting = false;
    /** Where to scroll to once the list can be seen. @type {{top?: number} | null} */
    this.arrival = null;
    list.addEventListener("scroll", () => this.#paintSoon(), { passive: true });
    new ResizeObserver(() => this.#paintSoon()).observe(list);
  }

  /**
   * The first drawing: where the reader was before, else with the open version in the middle; always with it in sight.
   * @param {TreeModel} model
   * @param {number} current the open version; 0 for none
   * @param {number} [top]
   */
  open(model, current, top) {
    this.#take(model, current);
    this.arrival = { top };
    this.repaint();
  }

  /** Waits until the list can be seen: on a phone it opens with its tab. */
  #arrive() {
    const { height } = this.#view;
    if (!this.arrival || height === 0) return;
    const row = this.model.row(this.current);
    const top = this.arrival.top ?? (row + 0.5) * this.row - height / 2;
    this.list.scrollTop = row < 0 ? top : scrollTopFor(row, { top, height, row: this.row, margin: this.row });
    this.arrival = null;
  }

  /**
   * Another state of the tree, at the same place.
   * @param {TreeModel} model
   * @param {number} current
   */
  show(model, current) {
    this.#take(model, current);
    this.repaint();
  }

  /** @param {TreeModel} model @param {number} current */
  #take(model, current) {
    const followed = this.active === this.current || model.row(this.active) < 0;
    this.model = model;
    this.edges = edgesOf(model);
    this.grid = gridFor(model.lanes, this.row);
    this.current = current;
    if (followed) this.active = model.row(current) < 0 ? (model.at(0)?.number ?? 0) : current;
    this.marks = this.marks.filter((number) => model.row(number) >= 0);
    this.canvas.style.setProperty("height", `${model.count * this.row}px`);
    this.svg.setAttribute("width", String(drawingWidth(model.lanes, this.grid)));
    this.svg.setAttribute("height", String(model.count * this.row));
    this.list.hidden = model.count === 0;
    this.list.setAttribute("aria-busy", String(!model.isWhole));
  }

  #paintSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.#paint();
    });
  }

  /** Everything anew: what is shown of a version changed. */
  repaint() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.#paint();
  }

  get #view() {
    return { top: this.list.scrollTop, height: this.list.clientHeight, row: this.row };
  }

  #paint() {
    this.#arrive();
    const sight = rowWindow({ ...this.#view, count: this.model.count });
    for (const [row, element] of this.shown) {
      if (row >= sight.first && row < sight.last) continue;
      element.remove();
      this.shown.delete(row);
    }
    for (let row = sight.first; row < sight.last; row += 1) if (!this.shown.has(row)) this.#add(row);
    draw(this.svg, this, sight);
    const active = this.shown.get(this.model.row(this.active));
    if (active) this.list.setAttribute("aria-activedescendant", active.id);
    else this.list.removeAttribute("aria-activedescendant");
  }

  /** @param {number} row */
  #add(row) {
    const node = this.model.at(row);
    if (!node) return;
    const element = treeRow(node, this.model, {
      row,
      top: row * this.row,
      indent: drawingWidth(this.model.lanes, this.grid),
      isOpen: node.number === this.current,
      isMarked: this.marks.includes(node.number),
      isActive: node.number === this.active,
    });
    this.shown.set(row, element);
    this.canvas.append(element);
  }

  /** Makes a version the active one and brings it into sight. @param {number | undefined} number */
  goTo(number) {
    const row = number === undefined ? -1 : this.model.row(number);
    if (row < 0 || number === undefined) return;
    this.shown.get(this.model.row(this.active))?.classList.remove("is-active");
    this.active = number;
    this.list.scrollTop = scrollTopFor(row, { ...this.#view, margin: this.row });
    this.#paint();
    this.shown.get(row)?.classList.add("is-active");
    this.onChange();
  }

  /** @param {number} step rows down */
  move(step) {
    const row = Math.min(this.model.count - 1, Math.max(0, this.model.row(this.active) + step));
    this.goTo(this.model.at(row)?.number);
  }

  /** How many rows fill the window. */
  get pageSize() {
    return Math.max(1, Math.floor(this.list.clientHeight / this.row) - 1);
  }

  /** Marks a version for comparing, or takes the mark back; the third mark replaces the first. @param {number} number */
  toggleMark(number) {
    const others = this.marks.filter((each) => each !== number);
    this.marks = others.length < this.marks.length ? others : [...others, number].slice(-MARKS);
    this.active = number;
    this.repaint();
    this.onChange();
  }

  clearMarks() {
    this.marks = [];
    this.repaint();
    this.onChange();
  }

  /** The two versions that comparing is about now, older first; null if there is only one. @returns {[number, number] | null} */
  get pair() {
    const [a, b] = this.marks.length === 2 ? this.marks : [this.marks[0] ?? this.active, this.current];
    const other = a === b ? (this.active === a ? this.model.parent(a) : this.active) : b;
    if (!a || !other) return null;
    return a < other ? [a, other] : [other, a];
  }
}
