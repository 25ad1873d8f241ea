/* The tree of runs that a conversation is, and the turns that go in and out of it. Plain data: no document here. */

/** @typedef {{type: string, [field: string]: any}} ContentBlock of the Messages API */
/** @typedef {{role: "user" | "assistant", content: string | ContentBlock[]}} Turn */
/** @typedef {{role: string, text: string, cut: boolean, calls: string[], results: number}} Summary */
/** @typedef {{id: string, parent: string | null, added: Summary[], status: string, stop_reason: string, model: string, output: string, created_at: string}} Node */
/** @typedef {{value: string, isError: boolean, isEmpty: boolean}} Answer what was typed for a call; isEmpty: nothing, on purpose */

export class Conversation {
  /** @param {Node[]} nodes in any order */
  constructor(nodes) {
    /** @type {Map<string, Node>} */
    this.nodes = new Map(nodes.map((node) => [node.id, node]));
    /** Replies by the run they continue, the oldest first. @type {Map<string | null, Node[]>} */
    this.replies = new Map();
    // Ids are in the order of creation.
    for (const node of [...nodes].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      this.replies.set(node.parent, [...(this.replies.get(node.parent) ?? []), node]);
    }
  }

  /** The runs from the first to this one. @param {string} id @returns {Node[]} */
  path(id) {
    const found = [];
    for (let node = this.nodes.get(id); node && found.length <= this.nodes.size; node = this.nodes.get(node.parent ?? "")) found.unshift(node);
    return found;
  }

  /** The replies to the same run, this one among them. @param {string} id @returns {Node[]} */
  siblings(id) {
    const node = this.nodes.get(id);
    return node?.parent ? (this.replies.get(node.parent) ?? []) : node ? [node] : [];
  }

  /** @param {string} id @returns {Node[]} */
  repliesTo(id) {
    return this.replies.get(id) ?? [];
  }

  /** Where a reply leads in the end: on from it, always by the newest reply. @param {string} id */
  newestFrom(id) {
    let last = id;
    for (let next = this.repliesTo(last).at(-1); next; next = this.repliesTo(last).at(-1)) last = next.id;
    return last;
  }
}

/** @param {string | ContentBlock[] | null | undefined} content @returns {ContentBlock[]} */
export function blocksOf(content) {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content ?? [];
}

/** @param {string | ContentBlock[] | null | undefined} content @returns {ContentBlock[]} */
export function callsOf(content) {
  return blocksOf(content).filter((block) => block.type === "tool_use");
}

/** The texts of a turn as one. @param {string | ContentBlock[] | null | undefined} content */
export function textOf(content) {
  return blocksOf(content)
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
}

/** @param {Answer | undefined} answer */
export function isAnswered(answer) {
  return answer !== undefined && (answer.value !== "" || answer.isEmpty);
}

/**
 * The calls that have no result yet.
 * @param {ContentBlock[]} calls
 * @param {Map<string, Answer>} answers
 */
export function missing(calls, answers) {
  return calls.filter((call) => !isAnswered(answers.get(call.id)));
}

/**
 * What is missing, on the button that sends.
 * @param {ContentBlock[]} unanswered
 */
export function missingWords(unanswered) {
  const names = unanswered.map((call) => call.name);
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `Answer ${shown} and ${names.length - 3} more` : `Answer ${shown}`;
}

/** @param {string} id @param {Answer | undefined} answer @returns {ContentBlock} */
function resultBlock(id, answer) {
  const block = { type: "tool_result", tool_use_id: id, content: answer?.value ?? "" };
  return answer?.isError ? { ...block, is_error: true } : block;
}

/**
 * The content of a reply: a result for each call first, then the text, if there is one.
 * @param {ContentBlock[]} calls
 * @param {Map<string, Answer>} answers
 * @param {string} text
 * @returns {string | ContentBlock[]}
 */
export function replyContent(calls, answers, text) {
  if (calls.length === 0) return text;
  const results = calls.map((call) => resultBlock(call.id, answers.get(call.id)));
  return text.trim() === "" ? results : [...results, { type: "text", text }];
}

/**
 * What a reply said, taken apart again to be edited.
 * @param {string | ContentBlock[]} content
 * @returns {{text: string, answers: Map<string, Answer>}}
 */
export function takenApart(content) {
  const results = blocksOf(content).filter((block) => block.type === "tool_result");
  const answers = results.map((block) => /** @type {[string, Answer]} */ ([block.tool_use_id, { value: block.content ?? "", isError: !!block.is_error, isEmpty: !block.content }]));
  return { text: textOf(content), answers: new Map(answers) };
}

/** Braces of a conversation are text: in a version, `{{name}}` would be a variable. @param {string} text */
export function literal(text) {
  return text.replaceAll("{{", "{{{{");
}

const KEPT = /** @type {Record<string, string[]>} */ ({
  text: ["type", "text"],
  tool_use: ["type", "id", "name", "input"],
  tool_result: ["type", "tool_use_id", "content", "is_error"],
  thinking: ["type", "thinking", "signature"],
  redacted_thinking: ["type", "data"],
});

/** @param {ContentBlock} block @returns {ContentBlock} */
function asWritten(block) {
  const kept = Object.fromEntries((KEPT[block.type] ?? Object.keys(block)).filter((name) => block[name] !== undefined && block[name] !== null).map((name) => [name, block[name]]));
  if (block.type === "text") kept.text = literal(block.text);
  if (typeof kept.content === "string") kept.content = literal(kept.content);
  return /** @type {ContentBlock} */ (kept);
}

/** @param {Turn} turn @returns {Turn} */
function asMessage(turn) {
  const blocks = blocksOf(turn.content).map(asWritten);
  const only = blocks.length === 1 && blocks[0].type === "text";
  return { role: turn.role, content: only ? blocks[0].text : blocks };
}

/**
 * A conversation so far as messages of a version. Calls that nobody answered yet get a result all the same (what was typed
 * for them, or an empty one): a call without its result could not be sent.
 * @param {Turn[]} turns
 * @param {ContentBlock[] | string} answer
 * @param {Map<string, Answer>} answers
 * @returns {Turn[]}
 */
export function asMessages(turns, answer, answers) {
  const calls = callsOf(answer);
  /** @type {Turn[]} */
  const all = [...turns, { role: "assistant", content: answer }];
  if (calls.length > 0) all.push({ role: "user", content: replyContent(calls, answers, "") });
  return all.map(asMessage);
}
