/* The turns before the answer that is shown: what the model said, what was replied, and the other ways it went on. */
import { el, fromTemplate, icon, one } from "../dom.js";
import { MarkdownView } from "../markdown/markdown_view.js";
import { blocksOf, callsOf } from "./conversation.js";
import { ToolCall } from "./tool_call.js";

/** @typedef {import("./conversation.js").ContentBlock} ContentBlock */
/** @typedef {import("./conversation.js").Turn} Turn */
/** @typedef {import("./conversation.js").Node} Node */
/** @typedef {{promptId: string, open: (run: string) => void, edit: (body: HTMLElement, run: string) => void, mayReply: boolean}} Hooks */

/** Drawn at once, the newest; a conversation may have a thousand. */
const MOST_SHOWN = 40;
const NAMES = { user: "User", assistant: "Assistant" };

/** @param {string} run */
export const runPage = (run) => `/runs/${run}/`;

/**
 * A link to a run that opens in place, unless it is wanted in another tab.
 * @param {HTMLAnchorElement} link
 * @param {string} run
 * @param {(run: string) => void} open
 */
export function leadTo(link, run, open) {
  link.href = runPage(run);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    open(run);
  });
}

/* What a person wrote is shown as it is; what a model wrote as the output pane shows its answers. */
function textView(/** @type {string} */ text, /** @type {string} */ role) {
  const exact = el("div", { class: "turn-text", dir: "auto" }, text);
  if (role === "user") return [exact];
  const view = new MarkdownView(el("div", { class: "markdown" }));
  view.finish(text);
  return [view.element, exact];
}

/**
 * @param {ContentBlock} block
 * @param {Map<string, string>} names of the tools, by the id of a call
 * @param {string} promptId
 */
function blockView(block, names, promptId) {
  if (block.type === "tool_use") return new ToolCall(block, promptId).element;
  if (block.type === "tool_result") return resultView(block, names);
  const words = block.type.includes("thinking") ? "Thinking" : block.type;
  return el("details", { class: "turn-fold" }, el("summary", {}, words), el("div", { class: "turn-text faint", dir: "auto" }, block.thinking ?? JSON.stringify(block, null, 2)));
}

/** @param {ContentBlock} block @param {Map<string, string>} names */
function resultView(block, names) {
  const head = el("header", { class: "tool-call-head" }, icon("wrench"), el("span", {}, "Result of "), el("code", { class: "tool-call-name truncate" }, names.get(block.tool_use_id) ?? "a call"));
  if (block.is_error) head.append(el("span", { class: "chip is-bad" }, "failed"));
  const content = typeof block.content === "string" ? block.content : block.content ? JSON.stringify(block.content, null, 2) : "";
  const text = content === "" ? el("p", { class: "faint" }, "Empty") : el("pre", { class: "code is-wrapped", dir: "auto", tabindex: 0 }, content);
  return el("section", { class: "tool-call" }, head, text);
}

export class Turns {
  /** @param {HTMLElement} root @param {Hooks} hooks */
  constructor(root, hooks) {
    this.root = root;
    this.hooks = hooks;
  }

  /**
   * @param {Turn[]} turns all that the run shown has sent after the version's own
   * @param {import("./conversation.js").Conversation} tree
   * @param {string} run
   */
  paint(turns, tree, run) {
    const path = tree.path(run);
    // Each run after the first has sent an answer and a reply more than the one it continues.
    const given = turns.length - 2 * (path.length - 1);
    const names = new Map(turns.flatMap((turn) => callsOf(turn.content)).map((block) => [block.id, block.name]));
    const draw = (/** @type {number} */ from, /** @type {number} */ to) =>
      turns.slice(from, to).map((turn, index) => {
        const at = from + index - given;
        // Its answer was said by the run before, the reply sent by the run itself.
        const node = at < 0 ? undefined : path[Math.ceil(at / 2)];
        return this.#view(turn, names, node ?? null, at % 2 === 1 ? tree : null);
      });
    const first = Math.max(0, turns.length - MOST_SHOWN);
    const views = draw(first, turns.length);
    if (views.length > 0) views.push(el("p", { class: "turn-head turn-now" }, NAMES.assistant));
    this.root.replaceChildren(...(first > 0 ? [this.#more(first, () => draw(0, first))] : []), ...views);
    this.root.hidden = views.length === 0;
  }

  /**
   * @param {number} count
   * @param {() => HTMLElement[]} draw
   */
  #more(count, draw) {
    const button = el("button", { class: "button button-quiet turn-more", type: "button" }, `Show ${count} earlier turns`);
    button.addEventListener("click", () => {
      const views = draw();
      button.replaceWith(...views);
      views[0]?.querySelector("a")?.focus();
    });
    return button;
  }

  clear() {
    this.root.replaceChildren();
    this.root.hidden = true;
  }

  /**
   * @param {Turn} turn
   * @param {Map<string, string>} names
   * @param {Node | null} node the run that said this, or sent it
   * @param {import("./conversation.js").Conversation | null} tree of a reply, which may have siblings
   */
  #view(turn, names, node, tree) {
    const view = fromTemplate("turn");
    const body = one("[data-turn-body]", view, HTMLElement);
    const link = one("[data-turn-link]", view, HTMLAnchorElement);
    view.dataset.role = turn.role;
    view.setAttribute("aria-label", NAMES[turn.role]);
    link.textContent = NAMES[turn.role];
    if (node) leadTo(link, node.id, this.hooks.open);
    const draw = (/** @type {ContentBlock} */ block) => (block.type === "text" ? textView(block.text, turn.role) : [blockView(block, names, this.hooks.promptId)]);
    body.append(...blocksOf(turn.content).flatMap(draw));
    if (node && tree) this.#paintSwitch(view, tree.siblings(node.id), node);
    const edit = one("[data-turn-edit]", view, HTMLButtonElement);
    edit.hidden = !(node && tree && this.hooks.mayReply);
    edit.addEventListener("click", () => node && this.hooks.edit(body, node.id));
    return view;
  }

  /** @param {HTMLElement} view @param {Node[]} siblings @param {Node} node */
  #paintSwitch(view, siblings, node) {
    const place = siblings.findIndex((each) => each.id === node.id);
    one("[data-turn-switch]", view, HTMLElement).hidden = siblings.length < 2;
    one("[data-turn-place]", view).textContent = `${place + 1} of ${siblings.length}`;
    const steps = /** @type {const} */ ([["[data-turn-earlier]", place - 1], ["[data-turn-later]", place + 1]]);
    for (const [name, to] of steps) {
      const button = one(name, view, HTMLButtonElement);
      button.disabled = !siblings[to];
      button.addEventListener("click", () => this.hooks.open(siblings[to].id));
    }
  }
}
