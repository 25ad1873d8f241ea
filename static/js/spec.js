/* What a version is made of, as plain data: no document here, so that Node can test it. */

/** @typedef {{role: "user" | "assistant", content: string | unknown[]}} Message */
/** @typedef {{name: string, type?: string, default?: string, description?: string}} VariableCard */
/**
 * @typedef {Record<string, any> & {
 *   model?: string, max_tokens?: number | string, temperature?: number | string, top_p?: number | string,
 *   top_k?: number | string, stop_sequences?: string[], system?: string | unknown[], messages: Message[],
 *   tools?: unknown, tool_choice?: any, output_schema?: unknown, thinking?: any, api_version?: string, variables?: VariableCard[],
 * }} Spec
 */

export const NUMBERS = /** @type {const} */ (["max_tokens", "temperature", "top_p", "top_k"]);
const FORM_FIELDS = new Set([
  ...["model", ...NUMBERS, "stop_sequences", "system", "messages", "variables"],
  ...["tools", "tool_choice", "output_schema", "thinking", "api_version"],
]);

/**
 * @param {string} model
 * @returns {Spec}
 */
export function newSpec(model) {
  return { model, max_tokens: 1024, messages: [{ role: "user", content: "" }] };
}

/**
 * The fields that no control of the page shows; they are kept as they were saved.
 * @param {Spec} spec
 * @returns {Record<string, any>}
 */
export function keptFields(spec) {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !FORM_FIELDS.has(name)));
}

/**
 * A number as written: "" is absent, "0" is 0; what is no number stays as text, for the server to refuse by name.
 * @param {string} text
 * @returns {number | string | undefined}
 */
export function readNumber(text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : trimmed;
}

/**
 * Every text of a spec that takes variables.
 * @param {Spec} spec
 * @returns {string[]}
 */
export function promptTexts(spec) {
  const contents = [spec.system, ...spec.messages.map((message) => message.content)];
  return contents.flatMap((content) => {
    if (typeof content === "string") return [content];
    if (!Array.isArray(content)) return [];
    return content.flatMap((/** @type {any} */ block) => [block?.text, block?.content].filter((text) => typeof text === "string"));
  });
}

/**
 * JSON with sorted keys: equal specs give equal text.
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  return JSON.stringify(value, (_key, item) =>
    item && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/**
 * @param {Spec | null} a
 * @param {Spec | null} b
 */
export function sameSpec(a, b) {
  return canonical(a) === canonical(b);
}

/**
 * @param {unknown} tools verbatim JSON text, or already a list
 * @returns {number} how many; 0 if it is no list
 */
function toolCount(tools) {
  if (Array.isArray(tools)) return tools.length;
  if (typeof tools !== "string") return 0;
  try {
    const list = JSON.parse(tools);
    return Array.isArray(list) ? list.length : 0;
  } catch {
    return 0;
  }
}

/** @param {any} thinking */
function thinkingWords(thinking) {
  if (thinking?.type === "enabled") return `thinking ${Number(thinking.budget_tokens).toLocaleString()}`;
  return thinking?.type === "adaptive" && "adaptive thinking";
}

/**
 * The parameters in one sentence: "claude-x, 1,024 tokens, temperature 0.2, 2 tools".
 * @param {Spec} spec
 * @returns {string}
 */
export function sentence(spec) {
  const { max_tokens: limit, stop_sequences: stops = [] } = spec;
  const tools = toolCount(spec.tools);
  const parts = [
    spec.model || "no model",
    typeof limit === "number" ? `${limit.toLocaleString()} tokens` : "no token limit",
    spec.temperature !== undefined && `temperature ${spec.temperature}`,
    spec.top_p !== undefined && `top p ${spec.top_p}`,
    spec.top_k !== undefined && `top k ${spec.top_k}`,
    stops.length > 0 && `${stops.length} stop ${stops.length === 1 ? "sequence" : "sequences"}`,
    tools > 0 && `${tools} ${tools === 1 ? "tool" : "tools"}`,
    spec.output_schema !== undefined && "output schema",
    thinkingWords(spec.thinking),
    spec.api_version === "2026-10-21" && "API 2026-10-21",
  ];
  return parts.filter(Boolean).join(", ");
}
