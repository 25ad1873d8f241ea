/* JSON laid out for reading by white space alone: numbers, strings and their order stay as they were written. Pure. */

const STEP = "  ";
/** Deeper than this nothing moves further to the right: a line would be blanks only, and all lines together quadratic. */
const DEEPEST = 32;

/**
 * @typedef {object} Layout
 * @property {string} shown
 * @property {number} rest how many characters of the text are not shown
 */

/**
 * Where the string that begins at `start` ends, its closing quote included.
 * @param {string} text
 * @param {number} start
 */
function endOfString(text, start) {
  for (let at = start + 1; ; at += 1) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote;
  }
}

const SPACE = /[ \t\r\n]*/y;
/** A number or a word, and whatever else a text that is no JSON may hold. */
const WORD = /[^ \t\r\n"{}[\],:]+/y;

/** @param {RegExp} pattern sticky, and matching wherever it is asked @param {string} text @param {number} start */
function endOf(pattern, text, start) {
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
}

/** @param {number} depth */
const newLine = (depth) => `\n${STEP.repeat(Math.min(Math.max(depth, 0), DEEPEST))}`;

/**
 * One token after another, each with the white space that goes before it.
 * @param {string} text
 * @returns {Generator<{piece: string, end: number}>} `end`: where in `text` the token ends
 */
function* laidOut(text) {
  let depth = 0;
  let before = "";
  for (let at = endOf(SPACE, text, 0); at < text.length; ) {
    const sign = text[at];
    const isMark = "{}[],:".includes(sign);
    const end = sign === '"' ? endOfString(text, at) : isMark ? at + 1 : endOf(WORD, text, at);
    const closes = sign === "}" || sign === "]";
    if (closes) depth -= 1;
    const isEmpty = closes && (before === "{" || before === "[");
    const breaks = (closes && !isEmpty) || before === "," || (!closes && (before === "{" || before === "["));
    const space = breaks ? newLine(depth) : before === ":" ? " " : "";
    yield { piece: space + text.slice(at, end), end };
    if (sign === "{" || sign === "[") depth += 1;
    before = isMark ? sign : "";
    at = endOf(SPACE, text, end);
  }
}

/**
 * JSON as it was written, one member a line. A text that is no JSON is laid out no worse.
 * @param {string} text
 * @param {number} [most] characters of the layout
 * @returns {Layout}
 */
export function indented(text, most = Infinity) {
  const pieces = [];
  let length = 0;
  for (const { piece, end } of laidOut(text)) {
    if (length + piece.length > most) {
      const cut = piece.slice(0, most - length);
      return { shown: pieces.join("") + cut, rest: text.length - end + piece.length - cut.length };
    }
    pieces.push(piece);
    length += piece.length;
  }
  return { shown: pieces.join(""), rest: 0 };
}
