/*
 * The tree as a list that is only as large as its window: rows in sight are in the document, lines are one SVG. It is
 * a listbox: the focus stays on the list, `aria-activedescendant` names the row.
 */
import { one } from "./dom.js";
import { rowWindow, scrollTopFor } from "./row_window.js";
import { draw } from "./tree_drawing.js";
import { drawingWidth, edgesOf, gridFor } from "./tree_lanes.js";
import { TreeModel } from "./tree_model.js";
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
    this.model = new TreeModel({ nodes: [], branches: [], labels: [] });
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
    list.addEventListener("scroll", () => this.#paintSoon(), { passive: true });
    new ResizeObserver(() => this.#paintSoon()).observe(list);
  }

  /**
   * @param {TreeModel} model
   * @param {number} current the open version; 0 for none
   */
  show(model, current) {
    this.model = model;
    this.edges = edgesOf(model);
    this.grid = gridFor(model.lanes, this.row);
    this.current = current;
    if (model.row(this.active) < 0) this.active = model.row(current) < 0 ? (model.nodes[0]?.number ?? 0) : current;
    this.marks = this.marks.filter((number) => model.row(number) >= 0);
    this.canvas.style.setProperty("height", `${model.nodes.length * this.row}px`);
    this.svg.setAttribute("width", String(drawingWidth(model.lanes, this.grid)));
    this.svg.setAttribute("height", String(model.nodes.length * this.row));
    this.list.hidden = model.nodes.length === 0;
    this.repaint();
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
    const sight = rowWindow({ ...this.#view, count: this.model.nodes.length });
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
    const node = this.model.nodes[row];
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
    this.active = number;
    this.list.scrollTop = scrollTopFor(row, { ...this.#view, margin: this.row });
    this.repaint();
    this.onChange();
  }

  /** @param {number} step rows down */
  move(step) {
    const last = this.model.nodes.length - 1;
    const row = Math.min(last, Math.max(0, this.model.row(this.active) + step));
    this.goTo(this.model.nodes[row]?.number);
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

  /** The open version in the middle of the window. */
  centre() {
    const row = this.model.row(this.current);
    if (row >= 0) this.list.scrollTop = (row + 0.5) * this.row - this.list.clientHeight / 2;
  }
}
