/* The conversation around the answer that the output pane shows: the turns above it, the reply beneath it. */
import { call } from "../api.js";
import { el, one } from "../dom.js";
import { showPane } from "../panes.js";
import { OPEN, queuedRun } from "../run_stream.js";
import { may } from "../sharing/permissions.js";
import { toast, toastError } from "../toast.js";
import { asMessages, Conversation, takenApart } from "./conversation.js";
import { readDraft } from "./drafts.js";
import { ReplyForm } from "./reply_form.js";
import { ToolCall } from "./tool_call.js";
import { leadTo, Turns } from "./turns.js";

/** @typedef {import("./conversation.js").ContentBlock} ContentBlock */
/** @typedef {import("./conversation.js").Turn} Turn */
/** @typedef {import("./conversation.js").Node} Node */
/** @typedef {import("../run_stream.js").RunState} RunState */

/** Runs a page of the tree, and pages at most: a larger conversation is drawn as far as that. */
const PAGE = 200;
const MOST_PAGES = 10;

export class Talk {
  /** @param {import("../workbench.js").Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.root = one("[data-talk]", document, HTMLElement);
    this.turnsView = new Turns(one("[data-talk-before]", document, HTMLElement), {
      promptId: bench.promptId,
      open: (run) => this.open(run),
      edit: (body, run) => this.#edit(body, run),
      mayReply: may("run"),
    });
    this.run = "";
    /** The run that the page was opened with. */
    this.asked = new URLSearchParams(location.search).get("run") ?? "";
    this.tree = new Conversation([]);
    /** What the run shown has sent after the version's own messages. @type {Turn[]} */
    this.turns = [];
    /** By run and id of the call. @type {Map<string, ToolCall>} */
    this.cards = new Map();
    /** @type {ReplyForm | null} */
    this.form = null;
    bench.output.drawTool = (/** @type {ContentBlock} */ block) => this.#card(block).element;
    bench.output.onRun = (/** @type {RunState | null} */ run) => this.show(run);
    window.addEventListener("popstate", () => this.#followAddress());
    if (bench.output.run) this.show(bench.output.run);
  }

  /** @param {ContentBlock} block */
  #card(block) {
    const key = `${this.bench.output.run?.id} ${block.id}`;
    const card = this.cards.get(key) ?? new ToolCall(block, this.bench.promptId);
    this.cards.set(key, card);
    return card;
  }

  /** @param {RunState | null} run */
  show(run) {
    if (!run) return;
    if (run.id !== this.run) this.#begin(run);
    if (OPEN.has(run.status) || run.status === "lost") {
      this.#drop();
      return;
    }
    this.#offerReply(run);
  }

  /* A run that nobody continued from another one has nothing around it before it is over. */
  #begin(/** @type {RunState} */ run) {
    this.run = run.id;
    this.#drop();
    if (this.tree.nodes.has(run.id)) {
      this.#paint();
    } else {
      this.tree = new Conversation([]);
      this.turns = [];
      this.turnsView.clear();
    }
    if (run.status !== "queued" || this.tree.nodes.has(run.id) || this.asked === run.id) void this.#load(run.id);
  }

  #drop() {
    this.form = null;
    this.root.replaceChildren();
  }

  /** @param {string} id */
  async #load(id) {
    try {
      let page = await call(`runs/${id}/conversation?limit=${PAGE}`);
      const turns = page.turns;
      const nodes = [...page.results];
      for (let pages = 1; page.next && pages < MOST_PAGES; pages += 1) {
        page = await call(page.next);
        nodes.push(...page.results);
      }
      if (id !== this.run) return;
      this.tree = new Conversation(nodes);
      this.turns = turns;
      this.#paint();
    } catch (error) {
      // A run of a prompt that is shared no more says so itself.
      if (id === this.run && /** @type {any} */ (error).status !== 404) toastError(error);
    }
  }

  #paint() {
    this.turnsView.paint(this.turns, this.tree, this.run);
    this.#paintReplies();
  }

  #paintReplies() {
    this.root.querySelector("[data-replies]")?.remove();
    const replies = this.tree.repliesTo(this.run);
    if (replies.length === 0 || !this.form) return;
    const rows = replies.map((reply) => {
      const said = reply.added.at(-1);
      const words = said?.text || (said?.results ? `${said.results} tool ${said.results === 1 ? "result" : "results"}` : "A reply");
      const link = el("a", { class: "truncate", dir: "auto" }, words);
      leadTo(link, reply.id, (run) => this.open(run));
      return el("li", {}, link);
    });
    const title = replies.length === 1 ? "It went on with" : `It went on in ${replies.length} ways`;
    this.root.prepend(el("div", { class: "replies", "data-replies": true }, el("p", { class: "faint" }, title), el("ul", {}, ...rows)));
  }

  /** @param {RunState} run */
  #offerReply(run) {
    const answer = /** @type {any} */ (run).content ?? run.text;
    const calls = Array.isArray(answer) ? answer.filter((block) => block.type === "tool_use").length : 0;
    if (this.form && this.form.run === run.id && this.form.calls.length === calls) return;
    if (!may("run") || !isAnswer(run, answer)) {
      this.#drop();
      return;
    }
    const onAppend = may("change") ? () => this.#append(answer) : undefined;
    this.form = new ReplyForm(run.id, answer, (block) => this.#card(block), {
      onSent: (id, content) => this.#sent(id, run.id, [...this.turns, { role: "assistant", content: answer }, { role: "user", content }]),
      onAppend,
    });
    this.root.replaceChildren(this.form.element);
    this.#placeCards();
    this.#paintReplies();
  }

  /* The output pane draws the calls in their place in the answer; where it does not, they stand above the reply. */
  #placeCards() {
    const { form } = this;
    requestAnimationFrame(() => {
      if (!form || form !== this.form) return;
      const loose = [...form.cards.values()].filter((card) => !card.element.isConnected);
      one("[data-reply-calls]", form.element).append(...loose.map((card) => card.element));
    });
  }

  /**
   * @param {string} id
   * @param {string} parent
   * @param {Turn[]} turns
   */
  #sent(id, parent, turns) {
    const { run } = this.bench.output;
    /** @type {Node} */
    const node = { id, parent, added: [], status: "queued", stop_reason: "", model: run?.model ?? "", output: "", created_at: "" };
    this.tree = new Conversation([...this.tree.nodes.values(), ...(this.tree.nodes.has(parent) ? [] : [{ ...node, id: parent, parent: null }]), node]);
    this.turns = turns;
    this.#address(id);
    this.bench.output.follow(queuedRun(id, run?.model, run?.version));
    const scroll = one("[data-output-scroll]", document, HTMLElement);
    scroll.scrollTop = scroll.scrollHeight;
  }

  /** @param {string} run */
  #address(run) {
    const address = new URL(location.href);
    address.searchParams.set("run", run);
    history.pushState(null, "", address);
  }

  /** Shows another run of the conversation. @param {string} run */
  open(run) {
    if (run === this.run) return;
    this.#address(run);
    this.#show(run);
  }

  /** @param {string} run */
  #show(run) {
    this.bench.output.open(run, this.bench.output.run?.version).catch(toastError);
  }

  #followAddress() {
    const run = new URLSearchParams(location.search).get("run");
    if (run && run !== this.run) this.#show(run);
  }

  /**
   * A reply is written anew in its place: it becomes a sibling, and the one that is there stays.
   * @param {HTMLElement} body
   * @param {string} run the one that sent it
   */
  #edit(body, run) {
    const parent = this.tree.nodes.get(run)?.parent;
    const depth = this.tree.path(run).length - 1;
    const before = this.turns.length - 2 * (this.tree.path(this.run).length - depth) + 1;
    const answer = this.turns[before - 1];
    if (!parent || !answer) return;
    const shown = [...body.children];
    const close = () => body.replaceChildren(...shown);
    const form = new ReplyForm(
      parent,
      answer.content,
      (block) => new ToolCall(block, this.bench.promptId),
      { onSent: (id, content) => this.#sent(id, parent, [...this.turns.slice(0, before), { role: "user", content }]), onCancel: close },
      `edit-${run}`,
    );
    const kept = readDraft(`edit-${run}`);
    if (!kept.text && kept.answers.size === 0) form.load(takenApart(this.turns[before].content));
    one("[data-reply-calls]", form.element).append(...[...form.cards.values()].map((card) => card.element));
    body.replaceChildren(form.element);
    form.focus();
  }

  /** @param {string | ContentBlock[]} answer */
  #append(answer) {
    const messages = asMessages(this.turns, answer, this.form?.answers ?? new Map());
    /** @type {any} */ (this.bench.form.blocks).append(messages);
    const words = messages.length === 1 ? "The answer is a message of the prompt now" : `${messages.length} messages were added to the prompt`;
    toast(`${words}: saving makes a version of it.`);
    showPane(this.bench.root, "editor");
  }
}

/**
 * Whether there is an answer that a conversation can go on from.
 * @param {RunState} run
 * @param {string | ContentBlock[]} answer
 */
function isAnswer(run, answer) {
  const blocks = Array.isArray(answer) ? answer : [{ type: "text", text: answer }];
  const says = blocks.some((block) => (block.type === "text" ? block.text.trim() !== "" : !block.type.includes("thinking")));
  return says && (run.status === "succeeded" || (run.status === "cancelled" && blocks.every((block) => block.type === "text")));
}
