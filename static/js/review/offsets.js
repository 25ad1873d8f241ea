/*
 * An editor counts a line end as one, whatever it is; a text in which lines end with CR and LF has two units there. Both
 * count UTF-16 units otherwise, as strings do.
 */

/**
 * Where in the text a position of the editor is.
 * @param {string} text with its own line ends
 * @param {number} position
 */
export function textOffset(text, position) {
  let ends = 0;
  for (let at = text.indexOf("\r\n"); at >= 0 && at - ends < position; at = text.indexOf("\r\n", at + 2)) ends += 1;
  return position + ends;
}

/**
 * Where in the editor an offset of the text is.
 * @param {string} text
 * @param {number} offset
 */
export function editorPosition(text, offset) {
  let ends = 0;
  for (let at = text.indexOf("\r\n"); at >= 0 && at + 1 < offset; at = text.indexOf("\r\n", at + 2)) ends += 1;
  return offset - ends;
}

/**
 * A stretch without the blanks at its ends; null if nothing else is in it.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @returns {{start: number, end: number} | null}
 */
export function withoutBlanks(text, start, end) {
  const words = text.slice(start, end);
  const lead = words.length - words.trimStart().length;
  const trail = words.length - words.trimEnd().length;
  return lead === words.length ? null : { start: start + lead, end: end - trail };
}
