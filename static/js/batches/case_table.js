/* The table of test cases: moves and types like a small spreadsheet. */
import { el } from "../dom.js";
import { shownValue } from "./case_sheet.js";
import { CellEditor } from "./cell_editor.js";
import { GridView } from "./grid_view.js";
import { placeBeside } from "./grid_walk.js";
import { copiedBlock, pastedBlock } from "./pasted_block.js";

/** @typedef {import("./case_sheet.js").CaseSheet} CaseSheet */
/** @typedef {import("./grid_walk.js").Place} Place */
/** @typedef {import("./case_rows.js").Rows} Rows */
/** @typedef {{name: string, hasDefault: boolean, used: boolean, isExpected: boolean}} Column */
/** @typedef {{columns: Column[], onOpen: (place: Place) => void, onMove: (place: Place) => void, onRemove: () => void, onUnused: (name: string) => void, onSaid: (words: string) => void}} Options */

const HEIGHT = 34;
const TOUCH_HEIGHT = 44;
/** A longer text is edited beside the table. */
const LONG = 400;
const SHOWN = 300;

export class CaseTable {
  /**
   * @param {HTMLElement} root
   * @param {Rows} rows
   * @param {CaseSheet | null} sheet null if nothing can be changed
   * @param {Options} options
   */
  constructor(root, rows, sheet, options) {
    this.root = root;
    this.rows = rows;
    this.sheet = sheet;
    this.options = options;
    /** @type {CellEditor | null} */
    this.editor = null;
    /** Where Enter goes back to after cells were filled one beside the other. */
    this.lineStart = 0;
    /** Esc was the last key: Tab leaves the table. */
    this.leaves = false;
    this.grid = new GridView(root, {
      height: matchMedia("(pointer: coarse)").matches ? TOUCH_HEIGHT : HEIGHT,
      paint: (cell, place) => this.#paintCell(cell, place),
      nameRow: (row) => (row < rows.count ? (row + 1).toLocaleString() : "+"),
      onWindow: (first, last) => rows.want(first, Math.min(last, rows.count)),
      onMove: (place) => {
        this.lineStart = place.column;
        options.onMove(place);
      },
      onOpen: (place) => this.edit(place),
      onKey: (event) => this.#onKey(event),
    });
    root.setAttribute("aria-readonly", String(sheet === null));
    document.addEventListener("paste", (event) => this.#onPaste(event));
    document.addEventListener("copy", (event) => this.#onCopy(event));
    this.setColumns(options.columns);
  }

  /** @param {Column[]} columns */
  setColumns(columns) {
    this.options.columns = columns;
    this.grid.setColumns(columns.map((column) => this.#head(column)), columns.map(() => ({ least: "var(--grid-cell)", share: 1 })));
    this.refresh();
  }

  /** @param {Column} column */
  #head({ name, used, isExpected }) {
    const words = isExpected ? el("span", { class: "column-name" }, "Expected") : el("bdi", { class: "column-name mono truncate", title: name }, name);
    const box = el("span", { class: "column-head" }, words);
    if (used) return box;
    const title = "The newest version does not use this variable";
    const chip = this.sheet ? el("button", { class: "chip is-warn", type: "button", title, "aria-label": `${name} is not used: rename or remove` }, "unused") : el("span", { class: "chip is-warn", title }, "unused");
    chip.addEventListener("click", () => this.sheet && this.options.onUnused(name));
    box.append(chip);
    return box;
  }

  /** The rows changed: their number, or what is in them. */
  refresh() {
    this.grid.setCount(this.rows.count + (this.sheet ? 1 : 0));
  }

  /** @param {HTMLElement} cell @param {Place} place */
  #paintCell(cell, { row, column }) {
    if (this.editor && cell.contains(this.editor.field)) return;
    const { word, text, tone } = this.#shown(row, column);
    cell.replaceChildren(word ? el("span", { class: `cell-word ${tone}` }, word) : el("span", { class: "cell-text", dir: "auto" }, text));
    cell.title = text.length > 40 ? text.slice(0, SHOWN) : "";
  }

  /** @param {number} row @param {number} column */
  #shown(row, column) {
    const about = this.options.columns[column];
    if (row >= this.rows.count) return { word: column === 0 ? "New row" : "", text: "", tone: "" };
    if (!this.rows.isKnown(row)) return { word: "…", text: "", tone: "" };
    const value = this.rows.valueAt(row, column);
    if (value === "") return { word: "empty text", text: "", tone: "" };
    if (value !== undefined && value !== null) return { word: "", text: shownValue(value).slice(0, SHOWN).replace(/\r\n|\r|\n/g, " ↵ "), tone: "" };
    if (about.isExpected || !about.used) return { word: "", text: "", tone: "" };
    return about.hasDefault ? { word: "default", text: "", tone: "" } : { word: "not given", text: "", tone: "is-warn" };
  }

  /**
   * Opens a cell for typing; a long text opens beside the table.
   * @param {Place} place
   * @param {string} [typed] what is there instead of the text of the cell
   */
  edit(place, typed) {
    const value = this.rows.valueAt(place.row, place.column);
    const text = shownValue(value);
    if (!this.sheet || (typed === undefined && !fitsCell(value, text))) {
      if (place.row < this.rows.count) this.options.onOpen(place);
      return;
    }
    this.#moveInLine(place);
    const cell = this.grid.cellAt(place);
    if (!cell) return;
    cell.replaceChildren();
    const label = `${this.options.columns[place.column].name}, row ${place.row + 1}`;
    this.editor = new CellEditor(cell, { text: typed ?? text, label, isNew: typed !== undefined, onDone: (kept, step) => this.#edited(place, value, kept, step) });
  }

  /**
   * @param {Place} place
   * @param {unknown} before
   * @param {string | null} text
   * @param {"down" | "on" | "back" | "stay"} step
   */
  #edited(place, before, text, step) {
    this.editor = null;
    // A cell that was opened and left empty is as little given as before.
    if (text !== null && !(text === "" && before === undefined)) this.sheet?.set(place.row, place.column, text);
    this.refresh();
    this.grid.paint();
    if (step === "stay") {
      if (document.activeElement === document.body) this.grid.focus();
      return;
    }
    this.grid.focus();
    const next = step === "down" ? { row: place.row + 1, column: this.lineStart } : placeBeside(place, step === "on" ? 1 : -1, this.grid.extent);
    if (next) this.#moveInLine(next, step === "down" ? next.column : this.lineStart);
  }

  /** @param {Place} place @param {number} [start] */
  #moveInLine(place, start = this.lineStart) {
    this.grid.moveTo(place);
    this.lineStart = start;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { active, extent } = this.grid;
    const withMod = event.ctrlKey || event.metaKey;
    const leaves = this.leaves || !this.sheet;
    this.leaves = event.key === "Escape" || (this.leaves && event.key === "Shift");
    if (event.key === "Tab") {
      if (leaves) return true;
      const next = placeBeside(active, event.shiftKey ? -1 : 1, extent);
      if (next) {
        this.#moveInLine(next);
        event.preventDefault();
      }
      return true;
    }
    if (event.key === "Enter" && event.shiftKey) {
      if (active.row < this.rows.count) this.options.onOpen(active);
    } else if (event.key === "F2") this.edit(active);
    else if (withMod && event.key.toLowerCase() === "z" && this.sheet) this.undo();
    else if ((event.key === "Delete" || event.key === "Backspace") && this.sheet) this.#takeAway(active, withMod);
    else return this.#typed(event, active, withMod || event.altKey);
    event.preventDefault();
    return true;
  }

  /**
   * The field has the focus before the key writes, so the character, or an input method's first one, lands in it.
   * @param {KeyboardEvent} event
   * @param {Place} place
   * @param {boolean} isCommand
   */
  #typed(event, place, isCommand) {
    const writes = event.key.length === 1 || event.key === "Process" || event.keyCode === 229;
    if (!writes || isCommand || !this.sheet) return false;
    // What is written here is no key of the page.
    event.stopPropagation();
    this.edit(place, "");
    return true;
  }

  /** @param {Place} place @param {boolean} wholeRow */
  #takeAway({ row, column }, wholeRow) {
    if (row >= this.rows.count) return;
    if (wholeRow) this.options.onRemove();
    else this.sheet?.set(row, column, undefined);
    this.refresh();
  }

  undo() {
    const words = this.sheet?.undo() ?? "";
    this.refresh();
    this.options.onSaid(words ? `Undone: ${words}.` : "There is nothing to undo.");
  }

  /** @param {ClipboardEvent} event */
  #onPaste(event) {
    if (document.activeElement !== this.root || !this.sheet) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text === "") return;
    event.preventDefault();
    const { row, column } = this.grid.active;
    const { rows, dropped } = this.sheet.paste(row, column, pastedBlock(text, this.sheet.columns - column));
    this.refresh();
    const lost = dropped > 0 ? ` ${dropped.toLocaleString()} ${dropped === 1 ? "cell" : "cells"} beyond the last column ${dropped === 1 ? "was" : "were"} left out.` : "";
    this.options.onSaid(`Pasted ${rows.toLocaleString()} ${rows === 1 ? "row" : "rows"}.${lost} Undo takes it back.`);
  }

  /** @param {ClipboardEvent} event */
  #onCopy(event) {
    if (document.activeElement !== this.root || !getSelection()?.isCollapsed) return;
    const { row, column } = this.grid.active;
    event.clipboardData?.setData("text/plain", copiedBlock([[shownValue(this.rows.valueAt(row, column))]]));
    event.preventDefault();
  }
}

/**
 * Whether a value is edited in its cell: a field of the page knows one kind of line end only, and text only.
 * @param {unknown} value
 * @param {string} text
 */
function fitsCell(value, text) {
  return (value === undefined || value === null || typeof value === "string") && text.length <= LONG && !text.includes("\r");
}
