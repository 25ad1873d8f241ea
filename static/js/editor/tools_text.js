/* The JSON of tools as text: which tools it holds and where, and how one is added without touching the others. */

/** @typedef {{name: string, description: string}} ToolSummary */
/** @typedef {{from: number, to: number, insert: string}} Edit */

/**
 * @param {string} text
 * @returns {{tools: ToolSummary[], problem: string}} problem: why the text cannot be read, "" if it can
 */
export function readTools(text) {
  if (!text.trim()) return { tools: [], problem: "" };
  try {
    const list = JSON.parse(text);
    if (!Array.isArray(list)) return { tools: [], problem: "Must be a JSON array of tools." };
    const tools = list.map((tool) => ({ name: wordsOf(tool?.name), description: wordsOf(tool?.description) }));
    return { tools, problem: "" };
  } catch (error) {
    return { tools: [], problem: `Not JSON yet: ${/** @type {Error} */ (error).message}` };
  }
}

/** @param {unknown} value */
const wordsOf = (value) => (typeof value === "string" ? value : "");

/**
 * Where each element of a JSON array stands in its text.
 * @param {string} text JSON of an array
 * @returns {{from: number, to: number}[]}
 */
export function elementSpans(text) {
  /** @type {{from: number, to: number}[]} */
  const spans = [];
  let depth = 0;
  let from = -1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    const isEnd = depth === 1 && (character === "," || character === "]");
    if (isEnd && from >= 0) {
      spans.push({ from, to: from + text.slice(from, at).trimEnd().length });
      from = -1;
    } else if (depth === 1 && from < 0 && !isEnd && character.trim()) from = at;
    if (character === '"') at = endOfString(text, at);
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
  }
  return spans;
}

/** @param {string} text @param {number} start of its opening quote */
function endOfString(text, start) {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

/**
 * The edit that puts one more tool at the end.
 * @param {string} text JSON of an array, or nothing
 * @param {Record<string, any>} tool
 * @returns {Edit | null} null: the text cannot be read, so nothing is put into it
 */
export function addingEdit(text, tool) {
  const { problem } = readTools(text);
  if (problem) return null;
  const written = JSON.stringify(tool, null, 2).replaceAll("\n", "\n  ");
  if (!text.trim()) return { from: 0, to: text.length, insert: `[\n  ${written}\n]` };
  const last = elementSpans(text).at(-1);
  if (!last) return { from: text.indexOf("["), to: text.lastIndexOf("]") + 1, insert: `[\n  ${written}\n]` };
  const close = text.lastIndexOf("]");
  const isOneLine = !text.slice(last.to, close).includes("\n");
  return { from: last.to, to: last.to, insert: `,\n  ${written}${isOneLine ? "\n" : ""}` };
}

/**
 * A tool to begin with, under a name that none has yet.
 * @param {string[]} taken
 */
export function newTool(taken) {
  let name = "my_tool";
  for (let number = 2; taken.includes(name); number += 1) name = `my_tool_${number}`;
  return {
    name,
    description: "What it does, when to use it, and what it gives back.",
    input_schema: {
      type: "object",
      properties: { query: { type: "string", description: "What to look for." } },
      required: ["query"],
      additionalProperties: false,
    },
  };
}
