/* What differs between two specs, in words: the note of the save form and the message it proposes. */
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
 * @param {Spec} before
 * @param {Spec} after
 * @returns {string[]}
 */
function changedMessages(before, after) {
  const found = [];
  const most = Math.max(before.messages.length, after.messages.length);
  for (let index = 0; index < most; index += 1) {
    if (canonical(before.messages[index]) !== canonical(after.messages[index])) found.push(`message ${index + 1}`);
  }
  return found.length > 3 ? [`${found.length} messages`] : found;
}

/**
 * @param {Spec | null} before
 * @param {Spec} after
 * @returns {string[]} empty when nothing differs
 */
export function changedParts(before, after) {
  if (!before) return [sentence(after)];
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => name !== "messages");
  const changed = fields.filter((name) => canonical(before[name]) !== canonical(after[name]));
  return [...changed.map((name) => NAMES[name] ?? name), ...changedMessages(before, after)];
}

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

/**
 * @param {Spec | null} before
 * @param {Spec} after
 * @returns {string} a message that is true, if dull
 */
export function proposedMessage(before, after) {
  if (!before) return "First version";
  const parts = changedParts(before, after);
  if (parts.length === 0) return "";
  if (parts.length === 1 && ["temperature", "max tokens", "top p", "top k", "model"].includes(parts[0])) {
    const name = Object.keys(NAMES).find((key) => NAMES[key] === parts[0]) ?? "";
    return after[name] === undefined ? `Remove ${parts[0]}` : `Set ${parts[0]} to ${after[name]}`;
  }
  const last = parts.at(-1);
  return `Change ${parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${last}` : last}`;
}
