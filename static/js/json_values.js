/* JSON read for looking at: numbers stay as they were written, and each value has a pointer (RFC 6901). Pure. */

/** A number that JavaScript would write otherwise: 1.0, 1e400, 12345678901234567890. */
export class WrittenNumber {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
  }
}

/**
 * @param {string} text
 * @returns {{value: unknown} | null} null if it is not JSON
 */
export function readJson(text) {
  /** @type {(key: string, value: unknown, context?: {source?: string}) => unknown} */
  const keepNumbers = (_key, value, context) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? new WrittenNumber(source) : value;
  };
  try {
    return { value: JSON.parse(text, keepNumbers) };
  } catch {
    return null;
  }
}

/** @param {unknown} value @returns {[string | number, unknown][] | null} null for what has no parts */
export function partsOf(value) {
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  if (typeof value !== "object" || value === null || value instanceof WrittenNumber) return null;
  return Object.entries(value);
}

/** @param {unknown} value one without parts, or an empty one */
export function writtenAs(value) {
  return value instanceof WrittenNumber ? value.source : JSON.stringify(value);
}

/** @param {string} pointer of the parent @param {string | number} key */
export function pointerTo(pointer, key) {
  return `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The pointers of everything that a value stands in, outermost first. @param {string} pointer @returns {string[]} */
export function ancestorsOf(pointer) {
  const parts = pointer.split("/").slice(1);
  return parts.map((_part, index) => ["", ...parts.slice(0, index)].join("/"));
}

/** How much is in it, for who has not opened it. @param {unknown} value */
export function sizeWords(value) {
  const count = partsOf(value)?.length ?? 0;
  if (Array.isArray(value)) return count === 1 ? "1 item" : `${count.toLocaleString()} items`;
  return count === 1 ? "1 property" : `${count.toLocaleString()} properties`;
}
