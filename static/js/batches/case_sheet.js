/*
 * Test cases while they are typed: rows of variable values and an expected text, every change as an edit that the
 * server is sent, and its opposite for undo. No document here.
 */
import { canonical } from "../spec.js";

/** @typedef {{values: Record<string, unknown>, expected: string | null}} Case a value that is not given is not in `values` */
/**
 * @typedef {{op: "set", index: number, values: Record<string, unknown>, expected: string | null}
 *   | {op: "insert", index: number, rows: Case[]} | {op: "remove", index: number, count: number}} Edit
 */

export const EXPECTED = "expected";
const MOST_UNDO = 100;

/** @returns {Case} */
export function emptyCase() {
  return { values: {}, expected: null };
}

/** @param {Case} row @returns {Case} */
const copy = (row) => ({ values: { ...row.values }, expected: row.expected });

/**
 * @param {unknown} value
 * @returns {string} as a cell shows it: JSON of what is no text
 */
export function shownValue(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export class CaseSheet {
  /**
   * @param {string[]} variables
   * @param {Case[]} rows
   * @param {(edits: Edit[]) => void} onEdits
   */
  constructor(variables, rows, onEdits) {
    this.variables = variables;
    this.rows = rows.map(copy);
    this.onEdits = onEdits;
    /** The opposites of what was done, newest last. @type {{edits: Edit[], words: string}[]} */
    this.done = [];
  }

  get columns() {
    return this.variables.length + 1;
  }

  /**
   * @param {number} index
   * @param {number} column
   * @returns {unknown} undefined where nothing is given
   */
  valueAt(index, column) {
    const row = this.rows[index];
    if (!row) return undefined;
    return column < this.variables.length ? row.values[this.variables[column]] : (row.expected ?? undefined);
  }

  /**
   * @param {number} index one row behind the last makes a new row
   * @param {number} column
   * @param {string | undefined} text undefined takes the value back
   */
  set(index, column, text) {
    if (shownValue(this.valueAt(index, column)) === (text ?? "") && (this.valueAt(index, column) === undefined) === (text === undefined)) return;
    this.#do(this.#filling(index, column, [[text]]), "the change");
  }

  /**
   * Fills cells from a block, and makes rows where it is longer than what is there.
   * @param {number} index
   * @param {number} column
   * @param {string[][]} block
   * @returns {{rows: number, dropped: number}} dropped: cells that found no column
   */
  paste(index, column, block) {
    const room = this.columns - column;
    const dropped = block.reduce((sum, cells) => sum + Math.max(0, cells.length - room), 0);
    this.#do(this.#filling(index, column, block.map((cells) => cells.slice(0, room))), `the paste of ${rowWords(block.length)}`);
    return { rows: block.length, dropped };
  }

  /** @param {number} index @param {number} count */
  clear(index, count = 1) {
    this.#do(Array.from({ length: count }, (_, at) => ({ op: /** @type {const} */ ("set"), index: index + at, ...emptyCase() })), "the clearing");
  }

  /** @param {number} index @param {Case[]} [rows] */
  insert(index, rows = [emptyCase()]) {
    this.#do([{ op: "insert", index, rows: rows.map(copy) }], `adding ${rowWords(rows.length)}`);
  }

  /** @param {number} index @param {number} [count] */
  remove(index, count = 1) {
    const there = Math.min(count, this.rows.length - index);
    if (there > 0) this.#do([{ op: "remove", index, count: there }], `the removal of ${rowWords(there)}`);
  }

  /** @returns {string} what was taken back; "" if there was nothing */
  undo() {
    const last = this.done.pop();
    if (!last) return "";
    for (const edit of last.edits) applyEdit(this.rows, edit);
    this.onEdits(last.edits);
    return last.words;
  }

  /**
   * @param {number} index
   * @param {number} column
   * @param {(string | undefined)[][]} block
   * @returns {Edit[]}
   */
  #filling(index, column, block) {
    const filled = block.map((cells, at) => {
      const row = copy(this.rows[index + at] ?? emptyCase());
      cells.forEach((text, beside) => this.#put(row, column + beside, text));
      return row;
    });
    const there = Math.max(0, this.rows.length - index);
    /** @type {Edit[]} */
    const edits = filled.slice(0, there).map((row, at) => ({ op: "set", index: index + at, ...row }));
    if (filled.length > there) edits.push({ op: "insert", index: this.rows.length, rows: filled.slice(there) });
    return edits;
  }

  /** @param {Case} row @param {number} column @param {string | undefined} text */
  #put(row, column, text) {
    if (column >= this.variables.length) row.expected = text ?? null;
    else if (text === undefined) delete row.values[this.variables[column]];
    else row.values[this.variables[column]] = text;
  }

  /** @param {Edit[]} edits @param {string} words */
  #do(edits, words) {
    if (edits.length === 0) return;
    /** @type {Edit[]} */
    const back = [];
    for (const edit of edits) back.unshift(applyEdit(this.rows, edit));
    this.done.push({ edits: back, words });
    if (this.done.length > MOST_UNDO) this.done.shift();
    this.onEdits(edits);
  }
}

/**
 * Does an edit to rows.
 * @param {Case[]} rows
 * @param {Edit} edit
 * @returns {Edit} its opposite
 */
export function applyEdit(rows, edit) {
  if (edit.op === "insert") {
    rows.splice(edit.index, 0, ...edit.rows.map(copy));
    return { op: "remove", index: edit.index, count: edit.rows.length };
  }
  if (edit.op === "remove") return { op: "insert", index: edit.index, rows: rows.splice(edit.index, edit.count) };
  const before = rows[edit.index];
  rows[edit.index] = copy(edit);
  return { op: "set", index: edit.index, ...before };
}

/** @param {Case[]} a @param {Case[]} b */
export function sameCases(a, b) {
  const plain = (/** @type {Case[]} */ rows) =>
    canonical(rows.map(({ values, expected }) => ({ values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)), expected: expected ?? null })));
  return plain(a) === plain(b);
}

/** @param {number} count */
export function rowWords(count) {
  return `${count.toLocaleString()} ${count === 1 ? "row" : "rows"}`;
}
