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
