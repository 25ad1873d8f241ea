/* One line of a difference: what changed in it marked, what cannot be seen drawn, its direction its own. */
import { isMarked, pieces } from "./diff_marks.js";
import { isEndOfText } from "./diff_rows.js";
import { el } from "./dom.js";

/** @typedef {import("./diff_rows.js").Line} Line */
/** @typedef {import("./diff_marks.js").Piece} Piece */

const TITLES = { text: "", space: "Blank", tab: "Tab", nbsp: "No-break space", cr: "Carriage return", control: "" };

/** @param {Piece} piece */
function drawn(piece) {
  const attributes = { class: `blank is-${piece.kind}`, title: TITLES[piece.kind] || piece.mark };
  return el("span", piece.kind === "space" || piece.kind === "nbsp" ? attributes : { ...attributes, "data-mark": piece.mark }, piece.text);
}

/**
 * Neighbours that look the same become one text.
 * @param {Piece[]} found
 * @param {(piece: Piece) => boolean} marked
 * @returns {(Node | string)[]}
 */
function nodes(found, marked) {
  /** @type {(Node | string)[]} */
  const out = [];
  for (const piece of found) {
    if (marked(piece)) out.push(drawn(piece));
    else if (typeof out.at(-1) === "string") out.push(`${out.pop()}${piece.text}`);
    else out.push(piece.text);
  }
  return out;
}

/**
 * @param {Line} line
 * @param {boolean} all whether every blank is drawn
 */
export function lineText(line, all) {
  const box = el("span", { class: "diff-text", dir: "auto" });
  const tag = line.op === "-" ? "del" : "ins";
  const trailing = (/** @type {Piece} */ piece) => piece.trailing && piece.kind !== "text" && line.op !== "=";
  if (line.column > 0) box.append(el("span", { class: "diff-aside" }, `… from character ${(line.column + 1).toLocaleString()}: `));
  const found = pieces(line.text, line.spans);
  // Where every word differs, the colour of the line says it all.
  const marksWords = found.some((piece) => !piece.changed && piece.kind === "text") || found.every((piece) => piece.kind !== "text");
  for (let index = 0; index < found.length; ) {
    const { changed } = found[index];
    let end = index;
    while (end < found.length && found[end].changed === changed) end += 1;
    const group = found.slice(index, end);
    // Blanks between changed words are no news; a change that is nothing but blanks has to be seen.
    const each = all || (changed && group.every((piece) => piece.kind !== "text"));
    const shown = nodes(group, (piece) => isMarked(piece, each) || trailing(piece));
    box.append(...(changed && marksWords ? [el(tag, {}, ...shown)] : shown));
    index = end;
  }
  if (line.cut) box.append(el("span", { class: "diff-aside" }, " … a long line, cut here"));
  if (isEndOfText(line) && line.op !== "=") box.append(el("span", { class: "diff-aside" }, "line end at the end of the text"));
  return box;
}
