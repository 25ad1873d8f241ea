/* JSON as a tree that opens part by part, with remarks at the values they are about. Parts are drawn when they are seen. */
import { el, icon } from "./dom.js";
import { ancestorsOf, partsOf, pointerTo, sizeWords, writtenAs } from "./json_values.js";

/** So many parts at once; the rest is asked for. */
const PORTION = 200;
const OPEN_DEPTH = 2;
/** A value of so few parts in all is seen at once. */
const SMALL = 60;
const LONG_TEXT = 2000;

export class JsonTree {
  /**
   * @param {unknown} value
   * @param {Map<string, string[]>} remarks by pointer
   */
  constructor(value, remarks) {
    this.remarks = remarks;
    /** Pointers of what holds something with a remark. */
    this.marked = new Set([...remarks.keys()].flatMap(ancestorsOf));
    /** What draws the parts of a value and is drawn by opening it. @type {Map<string, {fold: HTMLDetailsElement, more: (key?: string) => void}>} */
    this.folds = new Map();
    this.openDepth = countUpTo(value, SMALL) < SMALL ? Infinity : OPEN_DEPTH;
    this.element = el("div", { class: "json-tree", dir: "ltr" }, this.#draw(value, "", null, 0));
  }

  /**
   * Opens whatever a value stands in.
   * @param {string} pointer
   * @returns {HTMLElement | null} the value's own element
   */
  reveal(pointer) {
    for (const above of ancestorsOf(pointer)) {
      const entry = this.folds.get(above);
      if (!entry) break;
      entry.fold.open = true;
      entry.more(pointer);
    }
    return this.element.querySelector(`[data-pointer="${CSS.escape(pointer)}"]`);
  }

  /**
   * @param {unknown} value
   * @param {string} pointer
   * @param {string | number | null} key
   * @param {number} depth
   */
  #draw(value, pointer, key, depth) {
    const parts = partsOf(value);
    const remarks = (this.remarks.get(pointer) ?? []).map((message) => el("p", { class: "json-remark" }, icon("circle-alert"), message));
    const name = key === null ? [] : [el("span", { class: "json-key" }, typeof key === "number" ? String(key) : JSON.stringify(key)), ": "];
    if (!parts || parts.length === 0) {
      const kind = value === null ? "null" : typeof value;
      const leaf = el("span", { class: "json-value", "data-kind": kind }, shortened(writtenAs(value)));
      return el("div", { class: "json-leaf", "data-pointer": pointer, tabindex: "-1" }, el("div", {}, ...name, leaf), ...remarks);
    }
    const summary = el("summary", {}, ...name, el("span", { class: "faint" }, sizeWords(value)));
    const fold = el("details", { class: "json-fold", "data-pointer": pointer }, summary, ...remarks);
    this.#fill(fold, parts, pointer, depth);
    if (depth < this.openDepth || this.marked.has(pointer)) {
      fold.open = true;
      this.folds.get(pointer)?.more();
    }
    return fold;
  }

  /**
   * @param {HTMLDetailsElement} fold
   * @param {[string | number, unknown][]} parts
   * @param {string} pointer
   * @param {number} depth
   */
  #fill(fold, parts, pointer, depth) {
    const rest = el("button", { class: "button button-quiet button-small", type: "button" });
    let drawn = 0;
    const drawPortion = () => {
      const portion = parts.slice(drawn, drawn + PORTION).map(([key, value]) => this.#draw(value, pointerTo(pointer, key), key, depth + 1));
      drawn += portion.length;
      rest.before(...portion);
      rest.hidden = drawn >= parts.length;
      rest.textContent = `Show more, ${(parts.length - drawn).toLocaleString()} left`;
    };
    const more = (/** @type {string} */ wanted = "") => {
      if (drawn === 0) drawPortion();
      const index = parts.findIndex(([key]) => `${wanted}/`.startsWith(`${pointerTo(pointer, key)}/`));
      while (drawn <= index) drawPortion();
    };
    rest.addEventListener("click", drawPortion);
    fold.append(el("div", { class: "json-parts" }, rest));
    fold.addEventListener("toggle", () => fold.open && more());
    this.folds.set(pointer, { fold, more });
  }
}

/** How many values there are, counted no further than `most`. @param {unknown} value @param {number} most */
function countUpTo(value, most) {
  const open = [value];
  let count = 0;
  while (open.length > 0 && count < most) {
    count += 1;
    for (const [, part] of (partsOf(open.pop()) ?? []).slice(0, most)) open.push(part);
  }
  return count;
}

/** @param {string} text */
function shortened(text) {
  return text.length > LONG_TEXT ? `${text.slice(0, LONG_TEXT)}… (${text.length.toLocaleString()} characters; Raw has all of them)` : text;
}
