/* One text of a difference: its name, what there is to say, its lines; long ones come in portions, unchanged ones on demand. */
import { lineText } from "./diff_line.js";
import { diffRows, unified } from "./diff_rows.js";
import { foldText, partCounts, partName, partNotes } from "./diff_words.js";
import { el, icon } from "./dom.js";
import { toastError } from "./toast.js";

/** @typedef {import("./diff_rows.js").Row} Row */
/** @typedef {import("./diff_rows.js").Cell} Cell */
/** @typedef {import("./diff_words.js").PartDiff} PartDiff */
/** @typedef {(place: string) => Promise<string | null>} TextOf the text of the newer side; null if there is none */
/** @typedef {{split: boolean, marks: boolean, level: "h2" | "h3", textOf?: TextOf}} Look */

const PORTION = 400;
const WORDS = { "=": "", "-": "Removed: ", "+": "Added: " };
const SIGNS = { "=": "", "-": "−", "+": "+" };

/** @param {Cell | null} cell */
function number(cell) {
  return el("span", { class: "diff-number numeric", "aria-hidden": "true" }, cell ? cell.number.toLocaleString("en") : "");
}

/** @param {Cell | null} cell @param {boolean} marks */
function text(cell, marks) {
  if (!cell) return el("span", { class: "diff-side is-absent" });
  const { op } = cell.line;
  const sign = el("span", { class: "diff-sign", "aria-hidden": "true" }, SIGNS[op]);
  const word = op === "=" ? [] : [el("span", { class: "visually-hidden" }, WORDS[op])];
  const kind = { "=": "is-same", "-": "is-removed", "+": "is-added" }[op];
  return el("span", { class: `diff-side ${kind}` }, sign, ...word, lineText(cell.line, marks || cell.blanks));
}

class Part {
  /** @param {PartDiff} part @param {Look} look */
  constructor(part, look) {
    this.part = part;
    this.look = look;
    this.marks = look.marks || part.whitespace_only;
    const rows = diffRows(part.hunks, part.state);
    this.rows = look.split ? rows : unified(rows);
    this.box = el("div", { class: look.split ? "diff-lines is-split" : "diff-lines" });
    this.at = 0;
  }

  /** @param {Row} row */
  row(row) {
    if (row.kind === "fold") return this.fold(row);
    const { left, right } = row;
    const attributes = { class: "diff-row", "data-change": row.first };
    if (this.look.split) return el("div", attributes, number(left), text(left, this.marks), number(right), text(right, this.marks));
    return el("div", attributes, number(left), number(right), text(right ?? left, this.marks));
  }

  /** @param {import("./diff_rows.js").Fold} fold */
  fold(fold) {
    const words = foldText(fold.count);
    const { textOf } = this.look;
    if (!textOf || !this.part.to) return el("div", { class: "diff-fold" }, words);
    const button = el("button", { class: "diff-fold", type: "button", title: "Show them" }, icon("chevrons-up-down"), words);
    button.addEventListener("click", () => {
      this.unfold(fold, button).catch(toastError);
    });
    return button;
  }

  /** @param {import("./diff_rows.js").Fold} fold @param {HTMLElement} button */
  async unfold(fold, button) {
    const whole = await this.look.textOf?.(this.part.to?.place ?? "");
    if (typeof whole !== "string") return;
    const lines = (this.part.line_ends ? whole.replaceAll("\r\n", "\n") : whole).split("\n").slice(fold.to - 1, fold.to - 1 + fold.count);
    const rows = lines.slice(0, 10 * PORTION).map((line, index) => {
      const plain = { op: /** @type {const} */ ("="), text: line, spans: [], column: 0, cut: false, ends: true };
      const cell = (/** @type {number} */ first) => ({ line: plain, number: first + index, blanks: false });
      return this.row({ kind: "same", left: cell(fold.from), right: cell(fold.to), first: false });
    });
    button.replaceWith(...rows);
  }

  /** The next portion of rows, and a button for the rest. */
  more() {
    const next = this.rows.slice(this.at, this.at + PORTION);
    this.at += next.length;
    this.box.append(...next.map((row) => this.row(row)));
    const left = this.rows.length - this.at;
    if (left <= 0) return;
    const button = el("button", { class: "diff-fold is-more", type: "button" }, `Show the next lines; ${left.toLocaleString()} are left`);
    button.addEventListener("click", () => {
      button.remove();
      this.more();
    });
    this.box.append(button);
  }
}

/**
 * @param {PartDiff} part
 * @param {Look} look
 */
export function partSection(part, look) {
  const counts = partCounts(part);
  const state = part.state === "changed" ? "" : part.state;
  const name = el(look.level, {}, partName(part));
  const head = el("header", { class: "diff-head" }, name, state && el("span", { class: `chip is-${state === "added" ? "good" : "bad"}` }, state), el("span", { class: "faint" }, counts));
  const notes = partNotes(part).map((note) => el("p", { class: "diff-note" }, icon("info"), el("span", {}, note)));
  const shown = new Part(part, look);
  shown.more();
  const section = el("section", { class: "diff-part", "data-place": (part.to ?? part.from)?.place ?? "" }, head, ...notes, ...(shown.rows.length > 0 ? [shown.box] : []));
  if (!section.querySelector("[data-change]")) head.setAttribute("data-change", "");
  return section;
}
