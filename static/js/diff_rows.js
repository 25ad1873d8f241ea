/* A text's difference as rows to show, one under the other or side by side, with what is unchanged folded. */
import { differInBlanksOnly } from "./diff_marks.js";

/** @typedef {{op: "=" | "-" | "+", text: string, spans: number[][], column: number, cut: boolean, ends: boolean}} Line */
/** @typedef {{from_line: number, to_line: number, lines: Line[]}} Hunk */
/** @typedef {{line: Line, number: number, blanks: boolean}} Cell `blanks`: differs from its counterpart in blanks only */
/** @typedef {{kind: "fold", from: number, to: number, count: number}} Fold unchanged lines; from, to: number of the first on each side */
/** @typedef {{kind: "same" | "change", left: Cell | null, right: Cell | null, first: boolean}} Pair `first`: begins a change */
/** @typedef {Fold | Pair} Row */

/**
 * Pairs the removed and added lines of one change.
 * @param {Line[]} removed
 * @param {Line[]} added
 * @param {{from: number, to: number}} at
 * @returns {Pair[]}
 */
function paired(removed, added, at) {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, index) => {
    const [old, new_] = [removed[index], added[index]];
    const blanks = !!old && !!new_ && differInBlanksOnly(old.text, new_.text);
    return {
      kind: "change",
      left: old ? { line: old, number: at.from + index, blanks } : null,
      right: new_ ? { line: new_, number: at.to + index, blanks } : null,
      first: index === 0,
    };
  });
}

/** A text that ends with a line end has an empty last "line". @param {Line} line */
export function isEndOfText(line) {
  return line.text === "" && !line.ends && line.column === 0;
}

/** @param {Line[]} lines @param {number} start @param {string} op */
function stretch(lines, start, op) {
  let end = start;
  while (end < lines.length && lines[end].op === op) end += 1;
  return lines.slice(start, end);
}

/** @param {Hunk} hunk @returns {{rows: Pair[], from: number, to: number}} the rows, and the line after them on each side */
function hunkRows({ from_line: from, to_line: to, lines }) {
  /** @type {Pair[]} */
  const rows = [];
  const at = { from, to };
  for (let index = 0; index < lines.length; ) {
    const line = lines[index];
    if (line.op === "=") {
      if (!isEndOfText(line)) rows.push({ kind: "same", left: { line, number: at.from, blanks: false }, right: { line, number: at.to, blanks: false }, first: false });
      at.from += 1;
      at.to += 1;
      index += 1;
      continue;
    }
    const removed = stretch(lines, index, "-");
    const added = stretch(lines, index + removed.length, "+");
    rows.push(...paired(removed, added, at));
    at.from += removed.length;
    at.to += added.length;
    index += removed.length + added.length;
  }
  return { rows, ...at };
}

/** @param {Line} line @param {string} state */
function isAbsent(line, state) {
  return isEndOfText(line) && ((state === "added" && line.op === "-") || (state === "removed" && line.op === "+"));
}

/**
 * @param {Hunk[]} hunks
 * @param {"changed" | "added" | "removed"} state of the part: a text that was not there has no empty line either
 * @returns {Row[]}
 */
export function diffRows(hunks, state = "changed") {
  /** @type {Row[]} */
  const rows = [];
  let after = { from: 1, to: 1 };
  for (const hunk of hunks) {
    const count = hunk.from_line - after.from;
    if (count > 0) rows.push({ kind: "fold", from: after.from, to: after.to, count });
    const next = hunkRows({ ...hunk, lines: hunk.lines.filter((line) => !isAbsent(line, state)) });
    for (const row of next.rows) rows.push(row);
    after = next;
  }
  return rows;
}

/**
 * For the unified view: removed lines of a change first, then the added ones.
 * @param {Row[]} rows
 * @returns {Row[]}
 */
export function unified(rows) {
  /** @type {Row[]} */
  const out = [];
  /** @type {Pair[]} */
  let waiting = [];
  const flush = () => {
    for (const row of waiting) if (row.right) out.push({ ...row, left: null, first: row.first && !row.left });
    waiting = [];
  };
  for (const row of rows) {
    if (row.kind !== "change" || row.first) flush();
    if (row.kind !== "change") {
      out.push(row);
      continue;
    }
    if (row.left) out.push({ ...row, right: null });
    waiting.push(row);
  }
  flush();
  return out;
}
