/* What a comparison says in words: names of parts, counts, and the states in which there are no lines to show. */

/** @typedef {{place: string, role: string}} Place */
/**
 * @typedef {{state: "changed" | "added" | "removed", from: Place | null, to: Place | null, diff: "equal" | "changed" | "line_ends" | "too_large",
 *   added: number, removed: number, line_ends: [string, string] | null, whitespace_only: boolean, truncated: boolean,
 *   hunks: import("./diff_rows.js").Hunk[]}} PartDiff
 */

/** @type {Record<string, string>} */
const FIELDS = {
  model: "Model",
  max_tokens: "Max tokens",
  temperature: "Temperature",
  top_p: "Top p",
  top_k: "Top k",
  stop_sequences: "Stop sequences",
  tool_choice: "Tool choice",
  thinking: "Thinking",
  api_version: "API version",
  variables: "Variables",
  system: "System",
  tools: "Tools",
  output_schema: "Output schema",
};
/** @type {Record<string, string>} */
const ROLES = { user: "user", assistant: "assistant" };
/** @type {Record<string, string>} */
const ENDS = { lf: "LF", crlf: "CRLF", mixed: "a mixture of LF and CRLF", none: "none" };

/** @param {string} name a field of a spec */
export function fieldName(name) {
  return FIELDS[name] ?? name;
}

/**
 * "Message 2, user"; "System, block 1".
 * @param {string} place such as messages.1 or messages.1.0
 * @param {string} [role]
 */
export function placeName(place, role = "") {
  const [field, ...rest] = place.split(".");
  const block = field === "messages" ? rest[1] : rest[0];
  const name = field === "messages" ? `Message ${Number(rest[0]) + 1}` : fieldName(field);
  return [name, ROLES[role], block !== undefined && `block ${Number(block) + 1}`].filter(Boolean).join(", ");
}

/** @param {PartDiff} part */
export function partName(part) {
  const place = part.to ?? part.from;
  return place ? placeName(place.place, place.role) : "";
}

/** @param {number} count */
const lines = (count) => `${count.toLocaleString()} ${count === 1 ? "line" : "lines"}`;

/** @param {[string, string]} ends */
function endsChanged([before, after]) {
  return `Line ends changed from ${ENDS[before] ?? before} to ${ENDS[after] ?? after}`;
}

/**
 * What there is to say about a part besides its lines.
 * @param {PartDiff} part
 * @returns {string[]}
 */
export function partNotes(part) {
  const notes = [];
  if (part.from && part.to && part.from.role !== part.to.role) notes.push(`Role changed from ${part.from.role} to ${part.to.role}.`);
  if (part.from && part.to && part.from.place !== part.to.place) notes.push(`Was ${placeName(part.from.place)}.`);
  if (part.diff === "too_large") notes.push("Too large to compare line by line. Both texts are kept; open each version to read it.");
  if (part.diff === "line_ends" && part.line_ends) notes.push(`${endsChanged(part.line_ends)}; nothing else did.`);
  if (part.diff === "changed" && part.line_ends) notes.push(`${endsChanged(part.line_ends)}. That is said here once and not marked on each line.`);
  if (part.whitespace_only) notes.push("Only blanks changed, so they are shown as marks.");
  if (part.truncated) notes.push("There are more changes than are shown.");
  return notes;
}

/** @param {PartDiff} part @returns {string} "+3 −1" in words */
export function partCounts(part) {
  if (part.diff !== "changed") return "";
  // A text that was not there is compared with the empty one, which counts as a line.
  if (part.state === "added") return lines(part.added);
  if (part.state === "removed") return lines(part.removed);
  return [part.added > 0 && `${lines(part.added)} added`, part.removed > 0 && `${lines(part.removed)} removed`].filter(Boolean).join(", ");
}

/**
 * @param {unknown} value of a field
 * @returns {string}
 */
export function valueText(value) {
  if (value === null || value === undefined) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value, null, typeof value === "object" ? 2 : 0);
}

/** @param {number} count unchanged lines */
export function foldText(count) {
  return `${count.toLocaleString()} unchanged ${count === 1 ? "line" : "lines"}`;
}
