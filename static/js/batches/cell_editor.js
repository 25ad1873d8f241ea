/* Typing into a cell of the table: a field over it, as large as its text needs. Enter and Tab keep, Esc gives up. */
import { el } from "../dom.js";

/** @typedef {(text: string | null, step: "down" | "on" | "back" | "stay") => void} OnDone text: null if it was left as it was */

const MOST_ROWS = 10;

export class CellEditor {
  /**
   * @param {HTMLElement} cell
   * @param {{text: string, label: string, isNew: boolean, onDone: OnDone}} options isNew: `text` stands in place of what was there
   */
  constructor(cell, { text, label, isNew, onDone }) {
    this.onDone = onDone;
    this.over = false;
    this.field = el("textarea", { class: "cell-editor", "aria-label": label, rows: 1, spellcheck: "false", dir: "auto" });
    this.field.value = text;
    /** What the field made of it; null if leaving it so is a change. */
    this.before = isNew ? null : this.field.value;
    this.field.addEventListener("keydown", (event) => this.#onKey(event));
    this.field.addEventListener("input", () => this.#fit());
    this.field.addEventListener("blur", () => this.finish("stay"));
    cell.append(this.field);
    this.field.focus({ preventScroll: true });
    this.field.setSelectionRange(text.length, text.length);
    this.#fit();
  }

  /** Long enough for what is in it: the page does not jump, the field lies over the cells below. */
  #fit() {
    this.field.rows = 1;
    const { scrollHeight, clientHeight } = this.field;
    if (scrollHeight > clientHeight) this.field.rows = Math.min(MOST_ROWS, Math.max(2, this.field.value.split("\n").length, Math.round(scrollHeight / clientHeight)));
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    event.stopPropagation();
    // While an input method composes, Enter chooses a word.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && (event.shiftKey || event.altKey)) {
      if (event.altKey) this.field.setRangeText("\n", this.field.selectionStart, this.field.selectionEnd, "end");
      this.#fit();
      if (event.altKey) event.preventDefault();
      return;
    }
    if (event.key === "Escape") this.#end(null, "stay");
    else if (event.key === "Enter") this.finish("down");
    else if (event.key === "Tab") this.finish(event.shiftKey ? "back" : "on");
    else return;
    event.preventDefault();
  }

  /** @param {"down" | "on" | "back" | "stay"} step */
  finish(step) {
    this.#end(this.field.value === this.before ? null : this.field.value, step);
  }

  /** @param {string | null} text @param {"down" | "on" | "back" | "stay"} step */
  #end(text, step) {
    if (this.over) return;
    this.over = true;
    this.field.remove();
    this.onDone(text, step);
  }
}
