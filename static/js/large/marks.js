/* A text with what was looked for marked: text nodes and <mark>, nothing else. */
import { el } from "../dom.js";

const MOST_MARKS = 200;

/**
 * @param {string} text
 * @param {string} words literally, in either case; "" marks nothing
 * @returns {(string | HTMLElement)[]}
 */
export function marked(text, words) {
  const where = text.toLowerCase();
  const what = words.toLowerCase();
  // Lower case of another length (İ) would mark the wrong letters.
  if (!what || where.length !== text.length || what.length !== words.length) return [text];
  const parts = [];
  let from = 0;
  for (let at = where.indexOf(what); at >= 0 && parts.length < MOST_MARKS; at = where.indexOf(what, from)) {
    parts.push(text.slice(from, at), el("mark", {}, text.slice(at, at + what.length)));
    from = at + what.length;
  }
  return [...parts, text.slice(from)];
}
