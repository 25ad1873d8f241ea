/*
 * What differs between two answers, word by word: Myers' algorithm (An O(ND) Difference Algorithm, 1986), bounded, because
 * its cost grows with how much differs. Over the bound lines are compared instead of words, then nothing. Pure.
 */

/** @typedef {{op: "=" | "+" | "-", text: string}} Piece */
/** @typedef {{how: "equal" | "words" | "lines" | "different" | "long", pieces: Piece[]}} Difference */

/** Both texts together; a longer pair is not compared here. In UTF-16 units. */
export const MOST_UNITS = 400_000;
/** Edits that are looked for: its square bounds both time and memory. */
export const MOST_EDITS = 1500;
/** Less in common than this part of the words is said, not drawn: the marks would hide the text. */
const LEAST_COMMON = 0.2;

const words = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

/** @param {string} text @returns {string[]} */
function wordsOf(text) {
  if (!words) return text.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^]/gu) ?? [];
  return Array.from(words.segment(text), ({ segment }) => segment);
}

/** @param {string} text @returns {string[]} each with its line end */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * How the middle of two lists differs, or null if that takes more than `most` edits.
 * @param {string[]} a
 * @param {string[]} b
 * @param {number} most
 * @returns {Piece[] | null}
 */
function edits(a, b, most) {
  const limit = Math.min(most, a.length + b.length);
  const offset = limit + 1;
  const furthest = new Int32Array(2 * offset + 1);
  /** @type {Int32Array[]} */
  const trace = [];
  for (let d = 0; d <= limit; d += 1) {
    trace.push(furthest.slice(offset - d - 1, offset + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && furthest[offset + k - 1] < furthest[offset + k + 1]);
      let x = down ? furthest[offset + k + 1] : furthest[offset + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      furthest[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return path(a, b, trace);
    }
  }
  return null;
}

/**
 * Walks the trace back from the end.
 * @param {string[]} a
 * @param {string[]} b
 * @param {Int32Array[]} trace of each number of edits, the furthest x on the diagonals -d-1 to d+1
 * @returns {Piece[]}
 */
function path(a, b, trace) {
  /** @type {Piece[]} */
  const back = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const k = x - y;
    const at = (/** @type {number} */ diagonal) => trace[d][diagonal + d + 1];
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const previous = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : at(previous);
    const fromY = d === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) {
      back.push({ op: "=", text: a[x - 1] });
      x -= 1;
      y -= 1;
    }
    if (d > 0) back.push(down ? { op: "+", text: b[y - 1] } : { op: "-", text: a[x - 1] });
    x = fromX;
    y = fromY;
  }
  return back.reverse();
}

/**
 * Neighbours of one kind become one piece; what goes stands before what comes.
 * @param {Piece[]} pieces
 * @returns {Piece[]}
 */
function joined(pieces) {
  /** @type {Piece[]} */
  const out = [];
  let gone = "";
  let come = "";
  const flush = () => {
    if (gone) out.push({ op: "-", text: gone });
    if (come) out.push({ op: "+", text: come });
    gone = come = "";
  };
  for (const { op, text } of pieces) {
    if (op === "-") gone += text;
    else if (op === "+") come += text;
    else {
      flush();
      const last = out.at(-1);
      if (last?.op === "=") last.text += text;
      else out.push({ op, text });
    }
  }
  flush();
  return out;
}

/**
 * A blank between two changed words is no island: it goes with them, and they are read as one change.
 * @param {Piece[]} pieces
 * @returns {Piece[]}
 */
function bridged(pieces) {
  const isIsland = (/** @type {number} */ index) => {
    const { op, text } = pieces[index];
    return op === "=" && index > 0 && index < pieces.length - 1 && !text.includes("\n") && text.trim() === "";
  };
  return joined(pieces.flatMap((piece, index) => (isIsland(index) ? [{ op: /** @type {const} */ ("-"), text: piece.text }, { op: /** @type {const} */ ("+"), text: piece.text }] : [piece])));
}

/**
 * @param {string[]} a
 * @param {string[]} b
 * @param {number} most
 * @returns {Piece[] | null}
 */
function compare(a, b, most) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = edits(a.slice(head, a.length - tail), b.slice(head, b.length - tail), most);
  if (!middle) return null;
  const all = [{ op: /** @type {const} */ ("="), text: a.slice(0, head).join("") }, ...middle, { op: /** @type {const} */ ("="), text: a.slice(a.length - tail).join("") }];
  return bridged(joined(all.filter((piece) => piece.text)));
}

/** @param {Piece[]} pieces @returns {number} the part of the shorter text that both have: one may be a cut-off other */
function common(pieces) {
  const length = (/** @type {string} */ ops) => pieces.reduce((sum, { op, text }) => sum + (ops.includes(op) ? text.trim().length : 0), 0);
  return length("=") / Math.max(1, Math.min(length("=-"), length("=+")));
}

/**
 * @param {string} before
 * @param {string} after
 * @param {number} [mostEdits]
 * @returns {Difference} `pieces` that are "=" or "+" make up `after`, those "=" or "-" `before`; none if `how` is
 *   "different" (too little in common to mark), "long" (not compared) or "equal"
 */
export function difference(before, after, mostEdits = MOST_EDITS) {
  if (before === after) return { how: "equal", pieces: [] };
  if (before.length + after.length > MOST_UNITS) return { how: "long", pieces: [] };
  const byWord = compare(wordsOf(before), wordsOf(after), mostEdits);
  if (byWord) return common(byWord) < LEAST_COMMON ? { how: "different", pieces: [] } : { how: "words", pieces: byWord };
  const byLine = compare(linesOf(before), linesOf(after), mostEdits);
  if (byLine && common(byLine) >= LEAST_COMMON) return { how: "lines", pieces: byLine };
  return { how: "different", pieces: [] };
}
