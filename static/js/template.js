/*
 * Variables in prompt texts: `{{name}}`. The same grammar as playground/template.py; both must pass
 * tests/data/template_cases.json.
 */

const MAX_NAME_LENGTH = 100;
const TOKEN = /\{\{\{\{|\{\{([^{}]*)\}\}/g;
const BLANKS = /^[ \t\r\n]+|[ \t\r\n]+$/g;
const NAME = /^[_\-\p{L}\p{M}\p{N}]+$/u;

/** @typedef {{name: string, start: number, end: number}} Placeholder positions are UTF-16, braces included */

/**
 * The NFC name between the braces, or null if it is not a name.
 * @param {string} raw
 * @returns {string | null}
 */
export function normalName(raw) {
  const name = raw.replace(BLANKS, "").normalize("NFC");
  if (!NAME.test(name) || [...name].length > MAX_NAME_LENGTH) return null;
  return name;
}

/**
 * Every variable of `text` in order, repeats included.
 * @param {string} text
 * @returns {Placeholder[]}
 */
export function placeholders(text) {
  const found = [];
  for (const match of text.matchAll(TOKEN)) {
    const name = match[1] === undefined ? null : normalName(match[1]);
    if (name !== null) found.push({ name, start: match.index, end: match.index + match[0].length });
  }
  return found;
}

/**
 * The variable names of some texts, each once, in order of first appearance.
 * @param {...string} texts
 * @returns {string[]}
 */
export function names(...texts) {
  return [...new Set(texts.flatMap((text) => placeholders(text).map((place) => place.name)))];
}

/**
 * `text` with each variable that has a value replaced by it, and `{{{{` by `{{`. One pass; values are literal.
 * @param {string} text
 * @param {Record<string, string>} values keyed by NFC names
 * @returns {string}
 */
export function substitute(text, values) {
  return text.replace(TOKEN, (whole, inner) => {
    if (inner === undefined) return "{{";
    const name = normalName(inner);
    return name !== null && Object.hasOwn(values, name) ? values[name] : whole;
  });
}

/**
 * The places of one variable in a text, each the range of its name without braces and blanks.
 * @param {string} text
 * @param {string} name NFC
 * @returns {{from: number, to: number}[]}
 */
export function namePlaces(text, name) {
  return placeholders(text).flatMap((place) => {
    if (place.name !== name) return [];
    const inner = text.slice(place.start + 2, place.end - 2);
    const from = place.start + 2 + (inner.length - inner.replace(/^[ \t\r\n]+/, "").length);
    return [{ from, to: from + inner.replace(BLANKS, "").length }];
  });
}

/** @typedef {{kind: "unclosed" | "name", start: number, end: number, raw: string}} Stray what looks like a variable and is sent as written */

const OPENED = /\{\{(?!\{)([^{}]*)/g;
const LONGEST_SHOWN = 40;

/**
 * What begins like a variable in `text` and is none: braces that never close, or something else than a name in them.
 * @param {string} text
 * @returns {Stray[]}
 */
export function strays(text) {
  /** @type {Stray[]} */
  const found = [];
  let done = 0;
  const unclosed = (/** @type {number} */ until) => {
    for (const match of text.slice(done, until).matchAll(OPENED)) {
      const start = done + match.index;
      const raw = match[0].split(/[\r\n]/, 1)[0].slice(0, LONGEST_SHOWN);
      found.push({ kind: "unclosed", start, end: start + raw.length, raw });
    }
  };
  for (const match of text.matchAll(TOKEN)) {
    unclosed(match.index);
    done = match.index + match[0].length;
    if (match[1] === undefined || normalName(match[1]) !== null) continue;
    found.push({ kind: "name", start: match.index, end: done, raw: match[0] });
  }
  unclosed(text.length);
  return found;
}

/**
 * The name that is being written at the end of `before`, the text up to the cursor: null unless braces are open there.
 * @param {string} before
 * @returns {{typed: string, blank: string} | null} blank: what stands between the braces and the name
 */
export function openName(before) {
  const match = /(\{+)([ \t]*)([_\-\p{L}\p{M}\p{N}]*)$/u.exec(before);
  // Four braces are a literal: of the rest, two open a variable, and one before them is text.
  if (!match || match[1].length % 4 < 2) return null;
  return { typed: match[3], blank: match[2] };
}
