/*
 * The content blocks of an answer in their order. The text that streamed stays in its place and is not drawn again: what
 * stood before it and after it is put around it. An answer with several texts is drawn anew, block by block.
 */
import { el } from "./dom.js";
import { MarkdownView } from "./markdown/markdown_view.js";

/** @typedef {import("./run_stream.js").Block} Block */

/** @param {string} title @param {string} text */
function fold(title, text) {
  const body = el("pre", { class: "fold-text", dir: "auto", tabindex: "0" }, text);
  return el("details", { class: "answer-fold" }, el("summary", {}, title), body);
}

/** @param {Block} block */
function thinking(block) {
  if (block.type === "redacted_thinking") return el("p", { class: "pane-quiet" }, "Thinking that the provider does not show.");
  const text = String(block.thinking ?? "");
  if (!text) return el("p", { class: "pane-quiet" }, "Thinking that the provider kept to itself.");
  return fold(`Thinking, ${text.length.toLocaleString()} characters`, text);
}

/** @param {Block} block a call of a tool, or what is not known here */
export function foldOf(block) {
  if (block.type === "tool_use") return fold(`Calls ${block.name}`, JSON.stringify(block.input, null, 2));
  return fold(block.type.replaceAll("_", " "), JSON.stringify(block, null, 2));
}

export class AnswerBlocks {
  /**
   * @param {HTMLElement} before
   * @param {HTMLElement} streamed the text that arrived
   * @param {HTMLElement} after
   */
  constructor(before, streamed, after) {
    this.before = before;
    this.streamed = streamed;
    this.after = after;
    /** Draws a call of a tool. @type {(block: Block) => HTMLElement} */
    this.drawTool = foldOf;
    /** @type {Block[] | null} */
    this.shown = null;
    /** Whether the texts stand in blocks of their own. */
    this.isApart = false;
  }

  /** @param {Block[] | null} blocks null: text is all there is */
  show(blocks) {
    if (blocks === this.shown) return;
    this.shown = blocks;
    const texts = (blocks ?? []).filter(({ type }) => type === "text");
    this.isApart = texts.length > 1;
    const at = this.isApart ? 0 : (blocks ?? []).findIndex(({ type }) => type === "text");
    const rest = blocks ?? [];
    this.before.replaceChildren(...(at > 0 ? rest.slice(0, at).map((block) => this.#draw(block)) : []));
    this.after.replaceChildren(...(this.isApart ? rest : rest.slice(at + 1)).map((block) => this.#draw(block)));
  }

  /** @param {Block} block @returns {HTMLElement} */
  #draw(block) {
    if (block.type === "thinking" || block.type === "redacted_thinking") return thinking(block);
    if (block.type === "tool_use") return this.drawTool(block);
    if (block.type !== "text") return foldOf(block);
    const view = new MarkdownView(el("div", { class: "markdown" }));
    view.finish(String(block.text));
    return view.element;
  }
}
