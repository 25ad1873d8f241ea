/* Content blocks of a message as plain data: what each is called, what is new, and which calls wait for a result. */

/** @typedef {Record<string, any> & {type: string}} ContentBlock */

/** @type {Record<string, string>} */
const TITLES = {
  text: "Text",
  tool_use: "Tool call",
  tool_result: "Tool result",
  image: "Image",
  document: "Document",
  thinking: "Thinking",
  redacted_thinking: "Thinking, redacted",
};

/** @param {any} block */
export function titleOf(block) {
  return TITLES[block?.type] ?? String(block?.type ?? "Block");
}

/** What can be added to a message, by its role. @param {string} role @returns {string[]} types */
export function addable(role) {
  if (role === "system") return ["text"];
  return role === "assistant" ? ["text", "tool_use", "thinking"] : ["text", "tool_result", "image", "document"];
}

/**
 * @param {string} type
 * @param {{openCalls?: string[]}} [around] openCalls: ids of calls that wait for a result
 * @returns {ContentBlock}
 */
export function newBlock(type, { openCalls = [] } = {}) {
  switch (type) {
    case "tool_use":
      return { type, id: `toolu_${randomLetters(12)}`, name: "", input: {} };
    case "tool_result":
      return { type, tool_use_id: openCalls[0] ?? "", content: "" };
    case "image":
      return { type, source: { type: "base64", media_type: "image/png", data: "" } };
    case "document":
      return { type, source: { type: "text", media_type: "text/plain", data: "" } };
    case "thinking":
      return { type, thinking: "", signature: "" };
    default:
      return { type: "text", text: "" };
  }
}

/** @param {number} count */
function randomLetters(count) {
  const letters = "abcdefghijkmnpqrstuvwxyz23456789";
  return Array.from(crypto.getRandomValues(new Uint8Array(count)), (byte) => letters[byte % letters.length]).join("");
}

/**
 * The calls of an assistant's message that the next one has no result for.
 * @param {any} calls content of the assistant's message
 * @param {any} results content of the message after it
 * @returns {string[]} ids
 */
export function openCalls(calls, results) {
  const blocks = (/** @type {any} */ content) => (Array.isArray(content) ? content : []);
  const answered = new Set(blocks(results).flatMap((block) => (block?.type === "tool_result" ? [block.tool_use_id] : [])));
  return blocks(calls).flatMap((block) => (block?.type === "tool_use" && !answered.has(block.id) ? [String(block.id)] : []));
}

/**
 * A block in a few words: "image/png, 34.2 KB", "get_weather, toolu_01".
 * @param {any} block
 * @returns {string}
 */
export function summaryOf(block) {
  const { source } = block ?? {};
  if (source && typeof source === "object") {
    const size = typeof source.data === "string" ? sizeOf(source) : "";
    const words = [block.title, source.media_type, size, source.url, source.file_id, source.type === "content" && "blocks"];
    return words.filter((word) => typeof word === "string" && word).join(", ");
  }
  if (block?.type === "thinking") return firstLine(block.thinking);
  return "";
}

/** @param {{type?: string, data: string}} source */
function sizeOf({ type, data }) {
  const bytes = type === "base64" ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : new TextEncoder().encode(data).length;
  return bytes < 1000 ? `${bytes} bytes` : bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** @param {unknown} text */
function firstLine(text) {
  const line = typeof text === "string" ? text.trim().split("\n", 1)[0] : "";
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/**
 * A message in a line, for what is not drawn yet.
 * @param {any} content
 * @returns {string}
 */
export function outline(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => (typeof block?.text === "string" ? block.text : `[${titleOf(block)}]`)).join("\n");
}

/**
 * The text that begins the answer: that of a last message by the assistant.
 * @param {{role: string, content: any}[]} messages
 * @returns {string} "" if there is none
 */
export function prefillOf(messages) {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return "";
  const text = Array.isArray(last.content) ? last.content.at(-1)?.text : last.content;
  return typeof text === "string" ? text : "";
}

/** The Messages API refuses a beginning of the answer that ends in a blank. @param {string} text */
export function endsInBlank(text) {
  return text !== "" && text.trimEnd() !== text;
}
