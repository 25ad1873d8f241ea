/* What counts as large, and sizes in words. */

/** A text above this is no text field's business: it is shown through a window, and sent as an upload. */
export const LARGE = 200_000;
/** Wrapping a line is work in proportion to its length; past this it would freeze the page. */
export const LONGEST_WRAPPED_LINE = 100_000;
export const MOST_BYTES = 64 * 1024 * 1024;

const UNITS = /** @type {const} */ ([[1e6, "MB"], [1e3, "kB"]]);

/**
 * @param {number} bytes
 * @returns {string} "20.1 MB"
 */
export function sizeWords(bytes) {
  for (const [unit, name] of UNITS) {
    if (bytes >= unit) return `${(bytes / unit).toLocaleString(undefined, { maximumFractionDigits: bytes < 10 * unit ? 2 : 1 })} ${name}`;
  }
  return `${bytes.toLocaleString()} ${bytes === 1 ? "byte" : "bytes"}`;
}

/**
 * @param {number} count
 * @param {string} one
 * @returns {string} "1 line", "412,003 lines"
 */
export function countWords(count, one) {
  return `${count.toLocaleString()} ${one}${count === 1 ? "" : "s"}`;
}
