/*
 * Draws the rows of a text that is not here, from any position in it: only what is visible, whatever the heights. The
 * scroller's height is capped (browsers lose precision past some millions of pixels); wheel and keys move exactly.
 */
import { el, one } from "../dom.js";
import { marked, withPassages } from "./marks.js";

const MOST_PX = 7_000_000;
const SPARE_COLUMNS = 200;
const DRAWN_COLUMNS = 1200;
const MOST_ROWS = 200;

/** @typedef {{from: number, to: number, id: string, state: string}} Mark a passage of a row, in UTF-16 units */
/** @typedef {{text: string | null, number: string, marks?: Mark[]}} Row text null: on its way */
/** @typedef {{rows: number, row: (row: number) => Row, longest: number, wraps: boolean}} Content */

export class RowView {
  /**
   * @param {HTMLElement} scroller
   * @param {() => void} onMove
   */
  constructor(scroller, onMove) {
    this.scroller = scroller;
    this.rows = one("[data-reader-rows]", scroller, HTMLElement);
    this.space = one("[data-reader-space]", scroller, HTMLElement);
    this.onMove = onMove;
    /** In rows; the fraction is how far the first row is scrolled past. */
    this.position = 0;
    this.words = "";
    this.here = -1;
    /** @type {Content} */
    this.content = { rows: 1, row: () => ({ text: "", number: "" }), longest: 0, wraps: true };
    this.drawn = 0;
    /** The column that drawn rows begin with. */
    this.shownFrom = 0;
    this.frame = 0;
    this.rowHeight = 20;
    this.column = 8;
    this.set = 0;
    this.#bind();
  }

  #bind() {
    this.scroller.addEventListener("scroll", () => this.#scrolled());
    this.scroller.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.scroller.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.refresh()).observe(this.scroller);
  }

  /** @param {Content} content */
  show(content) {
    this.content = content;
    this.#measure();
    this.refresh();
  }

  #measure() {
    const probe = el("span", { class: "reader-text" }, "0".repeat(100));
    const row = el("div", { class: "reader-row is-probe" }, probe);
    this.rows.append(row);
    this.column = probe.getBoundingClientRect().width / 100 || 8;
    this.rowHeight = row.getBoundingClientRect().height || 20;
    row.remove();
  }

  get visible() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / this.rowHeight));
  }

  get #last() {
    const { rows, wraps } = this.content;
    return wraps ? Math.max(0, rows - 0.5) : Math.max(0, rows - this.visible + 1);
  }

  get #track() {
    return Math.min(this.#last * this.rowHeight, MOST_PX);
  }

  refresh() {
    if (this.scroller.clientHeight === 0) return;
    const { wraps, longest } = this.content;
    const width = wraps ? 0 : Math.min(longest + 8, 140_000) * this.column + 96;
    this.space.style.setProperty("height", `${this.#track}px`);
    this.space.style.setProperty("width", width ? `${width}px` : "100%");
    this.moveTo(this.position);
    this.draw();
  }

  /** @param {number} position in rows */
  moveTo(position) {
    this.position = Math.min(Math.max(0, position), this.#last);
    this.set = Math.round(this.#last > 0 ? (this.position / this.#last) * this.#track : 0);
    this.scroller.scrollTop = this.set;
    this.draw();
    this.onMove();
  }

  /** Puts a row near the top, and a column of it into sight. @param {number} row @param {number} [column] */
  reveal(row, column) {
    this.here = row;
    this.moveTo(row - Math.min(4, Math.floor(this.visible / 3)));
    if (column !== undefined && !this.content.wraps) {
      const left = column * this.column;
      const { scrollLeft, clientWidth } = this.scroller;
      if (left < scrollLeft || left > scrollLeft + clientWidth - 160) this.scroller.scrollLeft = Math.max(0, left - clientWidth / 3);
    }
  }

  #scrolled() {
    if (Math.abs(this.scroller.scrollTop - this.set) > 1) {
      this.set = this.scroller.scrollTop;
      this.position = this.#track > 0 ? (this.set / this.#track) * this.#last : 0;
      this.onMove();
    }
    this.draw();
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) return;
    const unit = [1, this.rowHeight, this.scroller.clientHeight][event.deltaMode];
    const before = this.position;
    this.#advance(event.deltaY * unit);
    if (this.position !== before) event.preventDefault();
  }

  /* By pixels: a wrapped row is as high as it was drawn. */
  #advance(/** @type {number} */ px) {
    let { position } = this;
    let left = px;
    for (let step = 0; step < MOST_ROWS && left !== 0; step += 1) {
      const row = left > 0 ? Math.floor(position) : Math.ceil(position) - 1;
      const height = this.#heightOf(row);
      const room = (left > 0 ? row + 1 - position : row - position) * height;
      const part = Math.abs(room) < Math.abs(left) ? room : left;
      position = part === room ? (left > 0 ? row + 1 : row) : position + part / height;
      left -= part;
      if (position <= 0 || position >= this.#last) break;
    }
    this.moveTo(position);
  }

  /**
   * The place of a point of the document, if it is in a row.
   * @param {Node} node
   * @param {number} offset
   * @returns {{row: number, column: number} | null}
   */
  placeOf(node, offset) {
    const element = (node instanceof Element ? node : node.parentElement)?.closest(".reader-row");
    const place = element ? [...this.rows.children].indexOf(element) : -1;
    const text = element?.lastElementChild;
    if (place < 0 || !text) return null;
    const before = document.createRange();
    before.setStart(text, 0);
    // What is before the text, its number, is its beginning.
    if (before.comparePoint(node, offset) < 0) return { row: this.drawn + place, column: this.shownFrom };
    before.setEnd(node, offset);
    return { row: this.drawn + place, column: this.shownFrom + before.toString().length };
  }

  /** @param {number} row */
  #heightOf(row) {
    const drawn = this.rows.children[row - this.drawn]?.getBoundingClientRect().height;
    if (drawn || !this.content.wraps) return drawn || this.rowHeight;
    return this.#guess(this.content.row(row).text?.length ?? 0);
  }

  /* Of a row that wraps, before it is drawn. */
  #guess(/** @type {number} */ length) {
    const columns = Math.max(20, Math.floor(this.scroller.clientWidth / this.column) - 12);
    return this.rowHeight * Math.max(1, Math.ceil(length / columns));
  }

  /** Where the last row ends at the bottom. */
  get #bottom() {
    let position = this.content.rows;
    for (let left = this.scroller.clientHeight - this.rowHeight; left > 0 && position > 0; ) {
      const height = this.#heightOf(position - 1);
      position -= Math.min(1, left / height);
      left -= height;
    }
    return position;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey && !["Home", "End"].includes(event.key)) return;
    const page = this.scroller.clientHeight - this.rowHeight;
    const steps = { ArrowDown: this.rowHeight, ArrowUp: -this.rowHeight, PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step !== undefined) this.#advance(step);
    else if (event.key === "Home") this.moveTo(0);
    else if (event.key === "End") this.moveTo(this.#bottom);
    else return;
    event.preventDefault();
  }

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.#paint();
    });
  }

  #paint() {
    const { rows, row, wraps } = this.content;
    const first = Math.min(Math.floor(this.position), rows - 1);
    const room = this.scroller.clientHeight + this.rowHeight * 2;
    let height = 0;
    let count = 0;
    for (let at = first; at < rows && count < MOST_ROWS; at += 1, count += 1) {
      // What wraps is guessed, then measured when the guess says that the view is full.
      if (height >= room && wraps) height = this.#heightOfFirst(count);
      if (height >= room) break;
      const content = row(at);
      this.#paintRow(this.#element(count), content, at);
      height += wraps ? this.#guess(content.text?.length ?? 0) : this.rowHeight;
    }
    while (this.rows.childElementCount > count) this.rows.lastElementChild?.remove();
    this.drawn = first;
    const past = (this.position - first) * this.#heightOf(first);
    this.rows.style.setProperty("transform", `translateY(${-past}px)`);
    this.rows.classList.toggle("is-wrapped", wraps);
  }

  /** @param {number} count */
  #heightOfFirst(count) {
    const last = this.rows.children[count - 1];
    return last.getBoundingClientRect().bottom - this.rows.getBoundingClientRect().top;
  }

  /** @param {number} place @returns {HTMLElement} */
  #element(place) {
    const found = this.rows.children[place];
    if (found instanceof HTMLElement) return found;
    const made = el("div", { class: "reader-row" }, el("span", { class: "reader-number numeric", "aria-hidden": "true" }), el("span", { class: "reader-text" }));
    this.rows.append(made);
    return made;
  }

  /** @param {HTMLElement} element @param {Row} content @param {number} row */
  #paintRow(element, content, row) {
    const [number, text] = /** @type {HTMLElement[]} */ ([...element.children]);
    const from = this.content.wraps ? 0 : Math.max(0, Math.floor(this.scroller.scrollLeft / this.column) - SPARE_COLUMNS);
    const whole = content.text ?? "";
    const shown = this.content.wraps ? whole : whole.slice(from, from + DRAWN_COLUMNS);
    number.textContent = content.number;
    text.dir = this.content.wraps ? "auto" : "ltr";
    element.classList.toggle("is-here", row === this.here);
    element.classList.toggle("is-waiting", content.text === null);
    text.style.setProperty("margin-inline-start", this.content.wraps ? "0" : `${from * this.column - this.scroller.scrollLeft}px`);
    this.shownFrom = from;
    text.replaceChildren(...withPassages(shown, content.marks ?? [], from, (part) => marked(part, this.words)));
  }
}
