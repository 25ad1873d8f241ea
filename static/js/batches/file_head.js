/* The start of a file of test cases, read in the browser: its format, its columns, a few rows to look at. Pure. */
import { cellsOf } from "./pasted_block.js";

/** So much of a file is looked at; the server reads all of it. */
export const HEAD_BYTES = 256 * 1024;
const MOST_SHOWN = 5;
const SEPARATORS = [",", ";", "\t"];

/** @typedef {{format: "csv" | "jsonl", columns: string[], rows: string[][], problem: string}} FileHead problem: why it cannot be taken in, as far as its start shows */

/**
 * @param {string} text the start of the file
 * @param {{name: string, isWhole: boolean}} file
 * @returns {FileHead}
 */
export function fileHead(text, { name, isWhole }) {
  const start = text.replace(/^\uFEFF/, "");
  const isJson = /\.(jsonl|ndjson|json)$/i.test(name) || /^\s*\{/.test(start);
  if (start.trim() === "") return { format: isJson ? "jsonl" : "csv", columns: [], rows: [], problem: "The file is empty." };
  return isJson ? jsonHead(start, isWhole) : csvHead(start, isWhole);
}

/** @param {string} text @param {boolean} isWhole @returns {FileHead} */
function csvHead(text, isWhole) {
  const lineEnd = text.search(/[\r\n]/);
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const width = (/** @type {string} */ separator) => cellsOf(line, separator)[0].length;
  const separator = SEPARATORS.reduce((best, each) => (width(each) > width(best) ? each : best));
  const all = cellsOf(text, separator);
  // The last row may be cut in the middle.
  const rows = all.slice(0, isWhole || all.length < 2 ? all.length : -1).filter((row) => row.length > 1 || row[0] !== "");
  const columns = (rows[0] ?? []).map((column) => column.trim().normalize("NFC"));
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  const problem = twice === undefined ? nameProblem(columns) : `The first line names “${twice}” twice. Give each column a name of its own.`;
  return { format: "csv", columns: [...new Set(columns)], rows: rows.slice(1, 1 + MOST_SHOWN), problem };
}

/** @param {string[]} columns */
function nameProblem(columns) {
  if (columns.length === 0) return "The first line of a CSV file names the columns; this one is longer than what can be looked at here.";
  const at = columns.indexOf("");
  return at < 0 ? "" : `Column ${at + 1} has no name in the first line. The first line of a CSV file names the columns.`;
}

/** @param {string} text @param {boolean} isWhole @returns {FileHead} */
function jsonHead(text, isWhole) {
  const lines = text.split("\n");
  const whole = lines.slice(0, isWhole || lines.length < 2 ? lines.length : -1).filter((line) => line.trim() !== "");
  /** @type {Record<string, unknown>[]} */
  const objects = [];
  for (const [index, line] of whole.entries()) {
    const value = parsed(line);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { format: "jsonl", columns: [], rows: [], problem: `Line ${index + 1} is no JSON object. In a JSONL file each line is one object: {"question": "…", "expected": "…"}.` };
    }
    objects.push(/** @type {Record<string, unknown>} */ (value));
  }
  const columns = [...new Set(objects.flatMap((object) => Object.keys(flat(object)).map((key) => key.normalize("NFC"))))];
  const rows = objects.slice(0, MOST_SHOWN).map((object) => columns.map((column) => shown(flat(object)[column])));
  return { format: "jsonl", columns, rows, problem: columns.length > 0 ? "" : "The objects of this file name nothing." };
}

/** Rows as this application writes them keep their values apart. @param {Record<string, any>} object @returns {Record<string, unknown>} */
function flat(object) {
  const { values, ...others } = object;
  return typeof values === "object" && values !== null && !Array.isArray(values) ? { ...values, ...others } : object;
}

/** @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** @param {unknown} value */
function shown(value) {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
