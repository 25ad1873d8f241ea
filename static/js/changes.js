/* What differs between two specs, in words: the note of the save form and the message it proposes. */
import { differInBlanksOnly } from "./diff_marks.js";
import { canonical, sentence } from "./spec.js";

const NAMES = /** @type {Record<string, string>} */ ({
  model: "model",
  max_tokens: "max tokens",
  temperature: "temperature",
  top_p: "top p",
  top_k: "top k",
  stop_sequences: "stop sequences",
  system: "system",
  tools: "tools",
  output_schema: "output schema",
  variables: "variables",
});

/** @typedef {import("./spec.js").Spec} Spec */

/**
 * How one part differs: "temperature 0.7 to 0", "message 1: 6 characters more".
 * @param {string} name
 * @param {unknown} before
 * @param {unknown} after
 * @returns {string}
 */
function difference(name, before, after) {
  if (before === undefined) return `${name} added`;
  if (after === undefined) return `${name} removed`;
  if (typeof before === "number" || typeof after === "number" || name === "model") return `${name} ${before} to ${after}`;
  if (typeof before !== "string" || typeof after !== "string") return `${name} changed`;
  const more = after.length - before.length;
  if (more === 0) return `${name} changed, same length`;
  return `${name} ${Math.abs(more).toLocaleString()} ${Math.abs(more) === 1 ? "character" : "characters"} ${more > 0 ? "longer" : "shorter"}`;
}

/**
 * What a save would change, part by part.
 * @param {Spec | null} before
 * @param {Spec} after
 * @returns {string[]} empty when nothing differs
 */
export function differences(before, after) {
  if (!before) return [sentence(after)];
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => name !== "messages");
  const changed = fields.filter((name) => canonical(before[name]) !== canonical(after[name]));
  const most = Math.max(before.messages.length, after.messages.length);
  const messages = Array.from({ length: most }, (_, index) => index).filter((index) => canonical(before.messages[index]) !== canonical(after.messages[index]));
  return [
    ...changed.map((name) => difference(NAMES[name] ?? name, before[name], after[name])),
    ...messages.map((index) => difference(`message ${index + 1}`, before.messages[index]?.content, after.messages[index]?.content)),
  ];
}

/** @typedef {{how: "change" | "set" | "add" | "remove", what: string}} Change */

/** @param {unknown} value */
const isShort = (value) => typeof value === "number" || (typeof value === "string" && value.length <= 40 && !value.includes("\n"));

/**
 * @param {string} name
 * @param {unknown} before
 * @param {unknown} after
 * @returns {Change}
 */
function change(name, before, after) {
  const plain = ["max tokens", "temperature", "top p", "top k", "model"].includes(name);
  if (after === undefined) return { how: "remove", what: name };
  if (before === undefined) return plain && isShort(after) ? { how: "set", what: `${name} to ${after}` } : { how: "add", what: name };
  if (plain && isShort(before) && isShort(after)) return { how: "change", what: `${name} ${before} → ${after}` };
  const blanks = typeof before === "string" && typeof after === "string" && differInBlanksOnly(before, after);
  return { how: "change", what: blanks ? `blanks in ${name}` : name };
}

/** @param {Spec} before @param {Spec} after @returns {Change[]} */
function messageChanges(before, after) {
  const most = Math.max(before.messages.length, after.messages.length);
  const changed = Array.from({ length: most }, (_, index) => index).filter((index) => canonical(before.messages[index]) !== canonical(after.messages[index]));
  if (changed.length > 3) return [{ how: "change", what: `${changed.length} messages` }];
  return changed.map((index) => change(`message ${index + 1}`, before.messages[index]?.content, after.messages[index]?.content));
}

/**
 * A message that is true, if dull: "Change system, temperature 0.2 → 0.5; remove tools".
 * @param {Spec | null} before
 * @param {Spec} after
 * @returns {string} "" when nothing differs
 */
export function proposedMessage(before, after) {
  if (!before) return "First version";
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => name !== "messages");
  const changed = fields.filter((name) => canonical(before[name]) !== canonical(after[name]));
  const all = [...changed.map((name) => change(NAMES[name] ?? name, before[name], after[name])), ...messageChanges(before, after)];
  const clauses = /** @type {const} */ (["change", "set", "add", "remove"]).flatMap((how) => {
    const items = all.filter((item) => item.how === how).map((item) => item.what);
    return items.length > 0 ? [`${how} ${items.join(", ")}`] : [];
  });
  const words = clauses.join("; ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
