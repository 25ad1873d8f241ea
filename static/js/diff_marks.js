/*
 * A line of text in pieces: what changed, and what nobody could see: blanks, tabs, line ends, no-break and zero-width
 * characters, marks that turn the direction of writing. Positions from the server are code points.
 */

/** @typedef {"text" | "space" | "tab" | "nbsp" | "cr" | "control"} Kind */
/** @typedef {{text: string, kind: Kind, mark: string, changed: boolean, trailing: boolean}} Piece `mark`: what is drawn for it; "" for nothing */

/** @type {Record<string, string>} characters that take no room, or that turn the text around */
const NAMED = {
  "\u00ad": "SHY",
  "\u061c": "ALM",
  "\u180e": "MVS",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u2028": "LS",
  "\u2029": "PS",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
  "\u0085": "NEL",
};
/* A joiner between two emoji is part of what is seen. */
const JOINED = "(?<=\\p{Extended_Pictographic}|\\ufe0f|[\\u{1f3fb}-\\u{1f3ff}])\\u200d(?=\\p{Extended_Pictographic})";
const CONTROLS = "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]";
const TOKENS = new RegExp(`${JOINED}|( +)|(\\t)|([\\u00a0\\u202f\\u2007]+)|(\\r)|(${CONTROLS}|${Object.keys(NAMED).join("|")})`, "gu");
const ZEROS = 0x2400;

/** @param {string} character */
function nameOf(character) {
  const code = character.charCodeAt(0);
  if (NAMED[character]) return NAMED[character];
  return code === 0x7f ? "\u2421" : String.fromCharCode(ZEROS + code);
}

/** @param {RegExpMatchArray} match @returns {{kind: Kind, mark: string} | null} */
function special(match) {
  const [, spaces, tab, nbsp, cr, control] = match;
  if (spaces) return { kind: "space", mark: "·".repeat(spaces.length) };
  if (tab) return { kind: "tab", mark: "→" };
  if (nbsp) return { kind: "nbsp", mark: "⍽".repeat(nbsp.length) };
  if (cr) return { kind: "cr", mark: "CR" };
  return control ? { kind: "control", mark: nameOf(control) } : null;
}

/**
 * The text in runs of one kind.
 * @param {string} text
 * @returns {{text: string, kind: Kind, mark: string}[]}
 */
function runs(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const what = special(match);
    if (!what) continue;
    if (match.index > at) found.push({ text: text.slice(at, match.index), kind: /** @type {Kind} */ ("text"), mark: "" });
    found.push({ text: match[0], ...what });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at), kind: /** @type {Kind} */ ("text"), mark: "" });
  return found;
}

/**
 * @param {string} text
 * @param {readonly (readonly number[])[]} spans in code points
 * @returns {number[][]} in the positions of a JavaScript string
 */
export function inUnits(text, spans) {
  if (spans.length === 0) return [];
  const points = Array.from(text);
  if (points.length === text.length) return spans.map(([start, end]) => [start, end]);
  const offsets = [0];
  for (const point of points) offsets.push(offsets[offsets.length - 1] + point.length);
  return spans.map(([start, end]) => [offsets[start] ?? text.length, offsets[end] ?? text.length]);
}

/**
 * @param {{text: string, kind: Kind, mark: string}} run
 * @param {number} start where it begins in the line
 * @param {number[][]} spans
 * @param {number} tail where trailing blanks begin
 * @returns {Piece[]}
 */
function cut(run, start, spans, tail) {
  const end = start + run.text.length;
  const borders = spans.flat().filter((at) => at > start && at < end);
  const points = [...new Set([start, ...borders, ...(tail > start && tail < end ? [tail] : []), end])].sort((a, b) => a - b);
  return points.slice(0, -1).map((from, index) => {
    const text = run.text.slice(from - start, points[index + 1] - start);
    const mark = run.kind === "space" || run.kind === "nbsp" ? run.mark.slice(0, text.length) : run.mark;
    const changed = spans.some((span) => span[0] <= from && from < span[1]);
    return { text, kind: run.kind, mark, changed, trailing: from >= tail };
  });
}

/**
 * @param {string} text one line
 * @param {readonly (readonly number[])[]} [spans] what changed, [start, end) in code points
 * @returns {Piece[]}
 */
export function pieces(text, spans = []) {
  const units = inUnits(text, spans);
  const tail = text.length - (/[ \t\u00a0]+\r?$/.exec(text)?.[0].length ?? 0);
  let at = 0;
  return runs(text).flatMap((run) => {
    const cuts = cut(run, at, units, tail);
    at += run.text.length;
    return cuts;
  });
}

/**
 * Whether a piece has its mark drawn: always for what cannot be seen at all, for blanks only if `all` are.
 * @param {Piece} piece
 * @param {boolean} all
 */
export function isMarked(piece, all) {
  if (piece.kind === "text") return false;
  return all || piece.kind === "control" || piece.kind === "nbsp" || piece.kind === "cr";
}

/**
 * Whether two lines differ in nothing but blanks.
 * @param {string} a
 * @param {string} b
 */
export function differInBlanksOnly(a, b) {
  return a !== b && a.replace(/\s+/gu, "") === b.replace(/\s+/gu, "");
}
