/* A block of cells as spreadsheets put it on the clipboard: rows by line, cells by tab, what holds either in quotes. Pure. */

const SEPARATORS = [",", ";"];

/**
 * Reads one text into rows of cells. A quote opens a cell only at its start and only if it is closed before a separator:
 * spreadsheets copy `"so called" facts` as it stands.
 * @param {string} text
 * @param {string} separator one character
 * @returns {string[][]}
 */
export function cellsOf(text, separator) {
  /** @type {string[][]} */
  const rows = [[]];
  let at = 0;
  for (;;) {
    const quoted = text[at] === '"' ? quotedCell(text, at, separator) : null;
    const end = quoted ? quoted.end : endOfCell(text, at, separator);
    rows[rows.length - 1].push(quoted ? quoted.value : text.slice(at, end));
    if (end >= text.length) break;
    at = end + (text.startsWith("\r\n", end) ? 2 : 1);
    if (text[end] !== separator) rows.push([]);
  }
  return rows;
}

/** @param {string} text @param {number} from @param {string} separator */
function endOfCell(text, from, separator) {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return at;
}

/**
 * @param {string} text
 * @param {number} from where the opening quote stands
 * @param {string} separator
 * @returns {{value: string, end: number} | null} null if this is no quoted cell
 */
function quotedCell(text, from, separator) {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] === '"') continue;
    const after = text[at + 1];
    if (after !== undefined && after !== separator && after !== "\n" && after !== "\r") return null;
    return { value: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
  return null;
}

/**
 * A pasted text as rows of cells. Tabs always part cells; commas or semicolons only where every one of several rows has
 * the same number of cells, they fit, and none begins with a blank: a paragraph has commas, too.
 * @param {string} text
 * @param {number} room columns from the cell that is pasted into to the last one
 * @returns {string[][]}
 */
export function pastedBlock(text, room) {
  const whole = text.replace(/(\r\n|\r|\n)$/, "");
  if (whole.includes("\t")) return cellsOf(whole, "\t");
  for (const separator of SEPARATORS) {
    const rows = cellsOf(whole, separator);
    const width = rows[0].length;
    const isEven = rows.every((row) => row.length === width && !row.some((cell) => cell.startsWith(" ")));
    if (rows.length > 1 && width > 1 && width <= room && isEven) return rows;
  }
  return cellsOf(whole, "\t");
}

/**
 * Cells as a block for the clipboard, readable by `cellsOf` and by spreadsheets.
 * @param {string[][]} rows
 * @returns {string}
 */
export function copiedBlock(rows) {
  const cell = (/** @type {string} */ text) => (/^"|[\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(cell).join("\t")).join("\n");
}
