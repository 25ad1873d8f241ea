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
