/* A long message shows its beginning. What is hidden is not in the page: a thousand lines cost nobody anything. */

const MAX_LINES = 16;
const MAX_LENGTH = 1200;

/**
 * @param {string} text
 * @returns {{shown: string, lines: number, length: number} | null} null for a text that is shown whole; else its
 *   beginning, and how many lines and characters there are in all
 */
export function folded(text) {
  const lines = text.split("\n");
  if (lines.length <= MAX_LINES && text.length <= MAX_LENGTH) return null;
  const last = lines.findLastIndex((line, index) => index < MAX_LINES && line !== "");
  const shown = wholeCharacters(lines.slice(0, last + 1).join("\n"));
  return { shown, lines: lines.length, length: [...text].length };
}

/* A cut inside an emoji would show half of it. One endless character (marks upon marks) has no end to cut at. */
function wholeCharacters(/** @type {string} */ text) {
  if (text.length <= MAX_LENGTH) return text;
  const part = text.slice(0, MAX_LENGTH + 64);
  let end = 0;
  for (const { index } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(part)) {
    if (index > MAX_LENGTH) break;
    end = index;
  }
  if (end > 0) return part.slice(0, end);
  return [...part].slice(0, MAX_LENGTH / 2).join("");
}
