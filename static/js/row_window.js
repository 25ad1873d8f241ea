/* Which rows of a long list are worth having in the document. */

/**
 * The rows in sight, and `spare` more on either side, as [first, last).
 * @param {{top: number, height: number, row: number, count: number, spare?: number}} view in px, but for the counts
 * @returns {{first: number, last: number}}
 */
export function rowWindow({ top, height, row, count, spare = 6 }) {
  const first = Math.min(Math.max(0, Math.floor(top / row) - spare), count);
  const last = Math.min(count, Math.max(first, Math.ceil((top + height) / row) + spare));
  return { first, last };
}

/**
 * Where to scroll so that row `index` is in sight; `top` itself if it is already.
 * @param {number} index
 * @param {{top: number, height: number, row: number, margin?: number}} view
 */
export function scrollTopFor(index, { top, height, row, margin = 0 }) {
  const start = index * row - margin;
  const end = (index + 1) * row + margin;
  if (start < top) return Math.max(0, start);
  return end > top + height ? end - height : top;
}
