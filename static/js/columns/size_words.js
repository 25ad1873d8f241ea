/* What running all the columns would take, and what is asked before. Pure. */
import { doubts, tokens } from "../editor/estimate_words.js";
import { money } from "../prices.js";

/** @typedef {import("../editor/estimate_words.js").Size} Size */

/** @param {string[]} letters "A", "A and B", "A, B and C" */
const listed = (letters) => letters.join(", ").replace(/, ([^,]*)$/, " and $1");

/**
 * What to ask about before all of them are run: each doubt once, with the columns it is about.
 * @param {{letter: string, size: Size | null}[]} columns
 * @returns {string[]}
 */
export function columnDoubts(columns) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const { letter, size } of columns) {
    // A model that nobody offers is refused before anything is run, at its own field.
    const rest = size && { ...size, problems: size.problems.filter(({ field }) => field !== "model") };
    for (const words of doubts(rest)) found.set(words, [...(found.get(words) ?? []), letter]);
  }
  return [...found].map(([words, letters]) => `${letters.length > 1 ? "Columns" : "Column"} ${listed(letters)}: ${words}`);
}

/**
 * All the runs together; "" while the size of one is not known.
 * @param {(Size | null)[]} sizes one of each column
 * @param {number} times repetitions of each
 */
export function totalWords(sizes, times) {
  const inputs = sizes.map((size) => size?.input_tokens ?? null);
  const known = inputs.filter((count) => count !== null);
  if (sizes.length === 0 || known.length < sizes.length || !Number.isInteger(times) || times < 1) return "";
  const sum = (/** @type {number[]} */ counts) => counts.reduce((before, count) => before + count, 0) * times;
  const costs = sizes.flatMap((size) => (size?.cost ? [size.cost.input + size.cost.answer_most] : []));
  const most = costs.length === sizes.length ? `, at most ${money(sum(costs))}` : "";
  return `${(sizes.length * times).toLocaleString()} runs: ${tokens(sum(known))} in${most}`;
}
