/* Where the table finds its rows: all of them in the page, or a window on those of the server. */
import { call } from "../api.js";
import { PagedRows } from "./paged_rows.js";

/** @typedef {import("./case_sheet.js").Case} Case */
/**
 * @typedef {{readonly count: number, isKnown: (row: number) => boolean, valueAt: (row: number, column: number) => unknown,
 *   want: (first: number, last: number) => void}} Rows
 */

/** @param {import("./case_sheet.js").CaseSheet} sheet @returns {Rows} */
export function sheetRows(sheet) {
  return {
    get count() {
      return sheet.rows.length;
    },
    isKnown: () => true,
    valueAt: (row, column) => sheet.valueAt(row, column),
    want: () => {},
  };
}

/**
 * @param {{id: string, count: number}} dataset
 * @param {string[]} names of the variables, by column; the expected text comes after them
 * @param {(error?: unknown) => void} onChange
 * @returns {Rows}
 */
export function windowRows({ id, count }, names, onChange) {
  const rows = new PagedRows(async (offset, limit, signal) => {
    const { count: all, results } = await call(`datasets/${id}/rows?offset=${offset}&limit=${limit}`, { signal });
    return { count: all, rows: /** @type {Case[]} */ (results) };
  }, onChange);
  return {
    count,
    isKnown: (row) => rows.at(row) !== undefined,
    valueAt: (row, column) => {
      const found = rows.at(row);
      return column < names.length ? found?.values[names[column]] : (found?.expected ?? undefined);
    },
    want: (first, last) => rows.want(first, last),
  };
}
