/*
 * The editor works with LF inside. A document written otherwise keeps its own line ends: which they were is remembered
 * here and written back. One that mixes them stays exactly as it was until somebody edits it.
 */

/** @typedef {"\n" | "\r\n" | "\r"} LineEnd */

/** @type {Record<LineEnd, string>} */
const WORDS = { "\n": "LF", "\r\n": "CRLF", "\r": "CR" };

/**
 * @param {string} text
 * @returns {{end: LineEnd, mixed: boolean}} `end` is the commonest one; LF for a text without any
 */
export function lineEndsOf(text) {
  /** @type {Record<LineEnd, number>} */
  const counts = { "\n": 0, "\r\n": 0, "\r": 0 };
  for (const [found] of text.matchAll(/\r\n|\r|\n/g)) counts[/** @type {LineEnd} */ (found)] += 1;
  const used = /** @type {LineEnd[]} */ (Object.keys(counts)).filter((end) => counts[end] > 0);
  const end = used.reduce((best, next) => (counts[next] > counts[best] ? next : best), used[0] ?? "\n");
  return { end, mixed: used.length > 1 };
}

/**
 * What a person should know about the line ends of a text before editing it; "" if nothing.
 * @param {{end: LineEnd, mixed: boolean}} lines
 */
export function lineEndNote({ end, mixed }) {
  if (mixed) return `Mixes kinds of line end. Kept exactly as it is until you edit it; then every line ends with ${WORDS[end]}.`;
  return end === "\n" ? "" : `Lines end with ${WORDS[end]}, and stay so.`;
}
