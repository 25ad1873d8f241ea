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

/**
 * A stretch of a row, with its passages marked.
 * @param {string} text
 * @param {import("./row_view.js").Mark[]} marks in the whole row
 * @param {number} from where in the row the stretch begins
 * @param {(part: string) => (string | HTMLElement)[]} draw
 * @returns {(string | HTMLElement)[]}
 */
export function withPassages(text, marks, from, draw) {
  if (marks.length === 0) return draw(text);
  const parts = [];
  let done = 0;
  for (const mark of [...marks].sort((a, b) => a.from - b.from)) {
    const start = Math.min(Math.max(done, mark.from - from), text.length);
    const end = Math.min(Math.max(start, mark.to - from), text.length);
    if (end === start) continue;
    parts.push(...draw(text.slice(done, start)));
    parts.push(el("span", { class: `passage is-${mark.state}`, "data-passage": mark.id }, ...draw(text.slice(start, end))));
    done = end;
  }
  return [...parts, ...draw(text.slice(done))];
}
