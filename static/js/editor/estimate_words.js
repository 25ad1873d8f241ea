/* The size of a prompt in words, for the foot of the editor and for the question before a run. */
import { money } from "../prices.js";

/**
 * @typedef {object} Size the answer of `POST prompts/{id}/count`
 * @property {number | null} input_tokens
 * @property {number | null} at_least
 * @property {string} reason
 * @property {number | null} context
 * @property {number | null} max_tokens
 * @property {number | null} room
 * @property {"input" | "answer" | null} overflow
 * @property {{field: string, bytes: number, tokens: number | null} | null} largest
 * @property {{input: number, answer_most: number} | null} cost
 * @property {{field: string, message: string, level: "error" | "note"}[]} problems
 */

/** @param {number} count */
export const tokens = (count) => `${count.toLocaleString()} ${count === 1 ? "token" : "tokens"}`;

/**
 * A field as people call it: "messages.1.content.0" is message 2.
 * @param {string} field
 */
export function placeWords(field) {
  const index = /^messages\.(\d+)/.exec(field)?.[1];
  if (index !== undefined) return `message ${Number(index) + 1}`;
  const name = field.split(".")[0];
  return /** @type {Record<string, string>} */ ({ system: "system text", top_p: "top p", top_k: "top k", output_schema: "output schema", tool_choice: "tool choice", max_tokens: "max tokens", api_version: "API version" })[name] ?? name;
}

/**
 * @param {Size} size
 * @returns {string[]} "1,234 tokens in", "at most 1,024 out", "at most $0.0123", "largest: message 2, about 900"
 */
export function sizeFacts(size) {
  const { input_tokens: input, max_tokens: most, cost, largest, room } = size;
  if (input === null) return [size.reason ? `Tokens not known: ${size.reason}` : "Tokens not known."];
  const answer = most === null ? null : room === null ? most : Math.min(most, room);
  const facts = [
    `${tokens(input)} in`,
    answer !== null && `at most ${answer.toLocaleString()} out`,
    cost && `${money(cost.input)} in, at most ${money(cost.input + cost.answer_most)} with the answer`,
    largest && largest.tokens !== null && largest.tokens < input && `largest: ${placeWords(largest.field)}, about ${largest.tokens.toLocaleString()}`,
  ];
  return facts.filter((fact) => typeof fact === "string");
}

/**
 * What does not fit, in words; "" if everything does.
 * @param {Size} size
 */
export function overflowWords({ overflow, context, input_tokens: input, at_least: least, max_tokens: most, room }) {
  if (!overflow || context === null) return "";
  const has = `the context of this model has ${context.toLocaleString()}`;
  if (overflow === "input") {
    const count = input === null ? `at least ${tokens(least ?? 0)}` : tokens(input);
    return `The prompt has ${count}; ${has}, so it would be refused. Shorten it, or choose a model with more.`;
  }
  return `The prompt leaves ${tokens(room ?? 0)} for the answer, which may be cut there: max tokens asks for ${(most ?? 0).toLocaleString()}, and ${has}.`;
}

/**
 * What the foot of the editor warns of: the first doubt, and how many more there are.
 * @param {Size} size
 */
export function warningOf(size) {
  const [first = "", ...others] = doubts(size);
  if (!first || size.overflow) return first;
  return `A run would be refused. ${first}${others.length > 0 ? ` And ${others.length} more.` : ""}`;
}

/**
 * What to ask about before a run: what does not fit, and what will be refused.
 * @param {Size | null} size
 * @returns {string[]} sentences; none if there is nothing to ask
 */
export function doubts(size) {
  if (!size) return [];
  const overflow = overflowWords(size);
  const errors = size.problems.filter(({ level }) => level === "error");
  const words = errors.map(({ field, message }) => {
    const place = field ? placeWords(field) : "";
    return place ? `${place.charAt(0).toUpperCase()}${place.slice(1)}: ${message}` : message;
  });
  return [...(overflow ? [overflow] : []), ...new Set(words)];
}
