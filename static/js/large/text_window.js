/* The read-only window on a saved text: its first part at once, then any line of it, and what is found in it. */
import { el, fromTemplate, one } from "../dom.js";
import { RowIndex } from "./row_index.js";
import { RowView } from "./row_view.js";
import { TextScan } from "./text_scan.js";
import { LONGEST_WRAPPED_LINE, sizeWords } from "./sizes.js";
import { WindowCache, windowOf } from "./window_cache.js";
import { WindowSearch } from "./window_search.js";

const FIRST_BYTES = 256 * 1024;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** @typedef {{start: number, end: number, id: string, state: string}} ByteMark a passage of the text, in bytes */
/** @typedef {{start: number, end: number, quote: string, box: DOMRect}} Chosen in bytes */

/**
 * The passages of one row, in its UTF-16 units.
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {ByteMark[]} marks
 */
function marksIn(bytes, start, marks) {
  const units = (/** @type {number} */ byte) => decoder.decode(bytes.subarray(0, Math.min(Math.max(0, byte - start), bytes.length))).length;
  return marks
    .filter((mark) => mark.start < start + bytes.length && mark.end > start)
    .map((mark) => ({ from: units(mark.start), to: units(mark.end), id: mark.id, state: mark.state }));
}

export class TextWindow {
  /**
   * @param {import("./text_source.js").TextSource} source
   * @param {string} label
   */
  constructor(source, label) {
    this.source = source;
    this.element = fromTemplate("reader");
    this.place = one("[data-reader-place]", this.element);
    this.note = one("[data-reader-note]", this.element, HTMLElement);
    this.bar = one("[data-reader-bar]", this.element, HTMLElement);
    const scroller = one("[data-reader-scroll]", this.element, HTMLElement);
    this.element.setAttribute("aria-label", label);
    scroller.setAttribute("aria-label", `${label}, read only`);
    one("[data-reader-size]", this.element).textContent = sizeWords(source.bytes);
    this.view = new RowView(scroller, () => this.#paintPlace());
    this.search = new WindowSearch(this.element, this);
    /** @type {RowIndex | null} null: only the beginning is here yet */
    this.index = null;
    /** @type {WindowCache | null} */
    this.cache = null;
    /** Passages to mark. @type {ByteMark[]} */
    this.marks = [];
    this.element.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "f") return;
      event.preventDefault();
      this.search.field.select();
    });
    one("[data-reader-jump]", this.element).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#jump();
    });
  }

  /** What can be done with the text. @param {[label: string, action: () => void][]} actions the first stands out */
  offer(actions) {
    const buttons = actions.map(([label, action], place) => {
      const button = el("button", { class: `button button-small${place ? " button-quiet" : ""}`, type: "button" }, label);
      button.addEventListener("click", action);
      return button;
    });
    one("[data-reader-actions]", this.element).append(...buttons);
  }

  /** Reads the beginning and the index at once; the beginning is drawn as soon as it is here. */
  async open() {
    const first = this.source.read(0, Math.min(FIRST_BYTES, this.source.bytes));
    const lines = this.source.lines();
    lines.catch(() => {});
    try {
      this.#beginning(await first);
      this.#whole(await lines, await first);
    } catch (error) {
      this.#say(`This text could not be read. ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {Uint8Array} bytes */
  #beginning(bytes) {
    const scan = new TextScan().feed(bytes).end();
    const index = new RowIndex(scan.index, bytes.length, scan.lines);
    const cache = new WindowCache(async () => bytes, index, () => {});
    cache.windows.set(0, windowOf(0, bytes));
    this.#draw(index, cache, scan.longest);
  }

  /**
   * @param {{index: RowIndex, longest: number}} lines
   * @param {Uint8Array} first
   */
  #whole({ index, longest }, first) {
    this.index = index;
    this.cache = new WindowCache(
      (from, to) => (to <= first.length ? Promise.resolve(first.subarray(from, to)) : this.source.read(from, to)),
      index,
      (error) => {
        if (error) this.#say(`A part of this text could not be read. ${error.message}`);
        this.view.draw();
      },
    );
    this.cache.windows.set(0, windowOf(0, first.subarray(0, index.end(Math.min(3, index.blocks - 1)))));
    this.#draw(index, this.cache, longest);
    if (longest > LONGEST_WRAPPED_LINE) this.#say(`A line here has ${sizeWords(longest)}: lines are not wrapped, and long ones come in pieces of 64 KiB.`);
  }

  /** @param {RowIndex} index @param {WindowCache} cache @param {number} longest */
  #draw(index, cache, longest) {
    const row = (/** @type {number} */ number) => {
      const { line, continued } = index.line(number);
      const bytes = cache.row(number);
      const marks = bytes && this.marks.length > 0 ? marksIn(bytes, cache.startOf(number) ?? 0, this.marks) : undefined;
      return { text: bytes && decoder.decode(bytes), number: continued ? "" : (line + 1).toLocaleString(), marks };
    };
    this.view.show({ rows: index.rows, row, longest, wraps: longest <= LONGEST_WRAPPED_LINE });
  }

  /** @param {string} text */
  #say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  #paintPlace() {
    if (!this.index) return;
    const { line } = this.index.line(Math.min(this.index.rows - 1, Math.floor(this.view.position)));
    this.place.textContent = `line ${(line + 1).toLocaleString()} of ${this.index.lines.toLocaleString()}`;
    const share = this.index.rows > 1 ? Math.min(1, this.view.position / Math.max(1, this.index.rows - this.view.visible)) : 0;
    this.bar.style.setProperty("inline-size", `${share * 100}%`);
  }

  #jump() {
    const field = one("[data-reader-jump] input", this.element, HTMLInputElement);
    const line = Number.parseInt(field.value.replace(/\D/g, ""), 10);
    if (!this.index || !Number.isFinite(line)) return;
    this.view.reveal(this.index.rowOfLine(line - 1));
    this.view.scroller.focus();
  }

  /** Shows the place of a byte. @param {number} byte */
  async revealByte(byte) {
    if (!this.index || !this.cache) return;
    const block = this.index.blockAt(byte);
    const found = await this.cache.load(block);
    const row = this.index.rowOfByte(byte, this.cache.feedsBefore(found, block, byte - 1));
    await this.cache.load(this.index.place(row).block);
    const start = this.cache.startOf(row) ?? byte;
    const before = this.cache.slice(Math.min(start, byte), byte);
    this.view.reveal(row, before ? decoder.decode(before).length : undefined);
  }

  /** @param {ByteMark[]} marks */
  mark(marks) {
    const same = JSON.stringify(marks) === JSON.stringify(this.marks);
    this.marks = marks;
    // Drawing again would end a selection.
    if (!same) this.view.draw();
  }

  /** What is selected of the rows that are drawn. @returns {Chosen | null} */
  selected() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
    const range = selection.getRangeAt(0);
    const start = this.#byteAt(range.startContainer, range.startOffset);
    const end = this.#byteAt(range.endContainer, range.endOffset);
    return start === null || end === null ? null : this.#chosen(start, end, range.getBoundingClientRect());
  }

  /** The line that was jumped to, or the first that is seen. @returns {Chosen | null} */
  currentLine() {
    const row = this.view.here >= 0 ? this.view.here : Math.floor(this.view.position);
    const start = this.cache?.startOf(row) ?? null;
    const bytes = this.cache?.row(row) ?? null;
    return start === null || bytes === null ? null : this.#chosen(start, start + bytes.length, this.element.getBoundingClientRect());
  }

  /** @param {Node} node @param {number} offset */
  #byteAt(node, offset) {
    const place = this.view.placeOf(node, offset);
    const start = place && this.cache ? this.cache.startOf(place.row) : null;
    const bytes = place && this.cache ? this.cache.row(place.row) : null;
    if (!place || start === null || bytes === null) return null;
    return start + encoder.encode(decoder.decode(bytes).slice(0, place.column)).length;
  }

  /** @param {number} start @param {number} end @param {DOMRect} box @returns {Chosen | null} */
  #chosen(start, end, box) {
    const bytes = end > start ? this.cache?.slice(start, end) : null;
    if (!bytes) return null;
    const whole = decoder.decode(bytes);
    const quote = whole.trim();
    if (!quote) return null;
    const lead = encoder.encode(whole.slice(0, whole.length - whole.trimStart().length)).length;
    return { start: start + lead, end: start + lead + encoder.encode(quote).length, quote, box };
  }

  focus() {
    this.view.scroller.focus();
  }
}

