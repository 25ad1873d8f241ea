/* Where the arrow keys lead in a grid of rows and columns. Pure. */

/** @typedef {{row: number, column: number}} Place */
/** @typedef {{rows: number, columns: number, page: number}} Extent page: rows in sight */

/**
 * The place that a key leads to; null if the key does not move.
 * @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, shiftKey?: boolean}} event
 * @param {Place} from
 * @param {Extent} extent
 * @returns {Place | null}
 */
export function placeAfter(event, from, extent) {
  if (event.altKey) return null;
  const far = event.ctrlKey || event.metaKey;
  const { row, column } = from;
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowUp: [far ? 0 : row - 1, column],
    ArrowDown: [far ? extent.rows - 1 : row + 1, column],
    ArrowLeft: [row, far ? 0 : column - 1],
    ArrowRight: [row, far ? extent.columns - 1 : column + 1],
    PageUp: [row - extent.page, column],
    PageDown: [row + extent.page, column],
    Home: [far ? 0 : row, 0],
    End: [far ? extent.rows - 1 : row, extent.columns - 1],
  };
  const to = moves[event.key];
  return to ? within({ row: to[0], column: to[1] }, extent) : null;
}

/**
 * One cell on or back, over the ends of rows; null where the grid ends, so that Tab leaves it.
 * @param {Place} from
 * @param {1 | -1} step
 * @param {Extent} extent
 * @returns {Place | null}
 */
export function placeBeside({ row, column }, step, { rows, columns }) {
  const at = row * columns + column + step;
  return at < 0 || at >= rows * columns ? null : { row: Math.floor(at / columns), column: at % columns };
}

/** @param {Place} place @param {Extent} extent @returns {Place} */
export function within({ row, column }, { rows, columns }) {
  return { row: Math.min(Math.max(0, row), Math.max(0, rows - 1)), column: Math.min(Math.max(0, column), Math.max(0, columns - 1)) };
}
