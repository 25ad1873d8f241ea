/* The output pane: the answer as it arrives, what to know about it, its facts. */
import { sendPage } from "./addresses.js";
import { call } from "./api.js";
import { Answer } from "./answer.js";
import { AnswerBlocks } from "./answer_blocks.js";
import { copyFrom } from "./copy.js";
import { el, icon, one } from "./dom.js";
import { keepChoice, keptChoice } from "./kept_choice.js";
import { showNotice } from "./model_notices.js";
import { runsBefore } from "./queue_place.js";
import { raiseTokens } from "./raise_tokens.js";
import { fetchRun, OPEN, RunStream } from "./run_stream.js";
import { factsOf, problemOf, stateWord, waitingWords } from "./run_words.js";
import { may } from "./sharing/permissions.js";
import { StructuredView } from "./structured.js";
import { bindTabs } from "./tabs.js";
import { toastError } from "./toast.js";
import { Wire } from "./wire.js";

/** @typedef {import("./run_stream.js").RunState} RunState */

const TICK_MS = 100;
/** After so long, and again every so often, a queued run is asked for its place. */
const PLACE_MS = 2500;
const ICONS = { bad: "circle-alert", warn: "triangle-alert", plain: "square" };
const VIEW = "output-view";
const KEPT = new Set(["markdown", "raw", "json", "wire"]);

export class Output {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onState
   */
  constructor(root, onState) {
    this.root = root;
    this.onState = onState;
    /** Called with the run when another one is shown, its state changes, or its blocks are there. @type {(run: RunState | null) => void} */
    this.onRun = () => {};
    const box = one("[data-output-scroll]", root, HTMLElement);
    const markdown = one("[data-output-markdown]", root, HTMLElement);
    this.answer = new Answer(box, markdown, one("[data-output-text]", root, HTMLElement));
    this.blocks = new AnswerBlocks(one("[data-blocks-before]", root, HTMLElement), markdown, one("[data-blocks-after]", root, HTMLElement));
    this.structured = new StructuredView(one("[data-json]", root, HTMLElement));
    this.wire = new Wire(root);
    this.stopButton = one("[data-stop]", root, HTMLButtonElement);
    /** @type {RunState | null} */
    this.run = null;
    /** @type {RunStream | null} */
    this.stream = null;
    this.since = 0;
    /** The last run whose verdict was there to see. */
    this.judged = "";
    /** @type {Awaited<ReturnType<typeof runsBefore>>} */
    this.before = null;
    this.askedAt = 0;
    this.view = "markdown";
    this.isOwnChoice = false;
    this.#bind();
    setInterval(() => this.#tick(), TICK_MS);
  }

  #bind() {
    this.stopButton.addEventListener("click", () => void this.stop());
    one("[data-problem-action]", this.root, HTMLElement).addEventListener("click", raiseTokens);
    const copy = one("[data-copy-answer]", this.root, HTMLElement);
    copy.addEventListener("click", () => void copyFrom(copy, this.run?.text ?? ""));
    this.root.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("[data-copy-code]");
      const code = button?.closest(".md-code")?.querySelector("code");
      if (button instanceof HTMLElement && code) void copyFrom(button, code.textContent ?? "");
    });
    const list = one("[data-tabs]", this.root, HTMLElement);
    /** @type {(tab: HTMLElement) => void} */
    this.choose = bindTabs(list, (tab) => this.#onTab(tab.dataset.view ?? ""));
    const kept = list.querySelector(`[data-view="${keptChoice(VIEW, "markdown")}"]`);
    this.#turnTo(kept instanceof HTMLElement && !kept.hidden ? `#${kept.id}` : "#tab-text");
  }

  /** @param {string} view */
  #onTab(view) {
    this.view = view;
    if (view === "markdown" || view === "raw") {
      this.root.dataset.view = view;
      this.answer.show(view);
    }
    if (this.isOwnChoice && KEPT.has(view)) keepChoice(VIEW, view);
    this.#paintText();
    void this.wire.look();
  }

  /* Another tab, without anybody's having asked for it. */
  #turnTo(/** @type {string} */ id) {
    this.isOwnChoice = false;
    this.choose(one(id, this.root, HTMLElement));
    this.isOwnChoice = true;
  }

  /** How a call of a tool is drawn. @param {(block: import("./run_stream.js").Block) => HTMLElement} draw */
  set drawTool(draw) {
    this.blocks.drawTool = draw;
  }

  get isRunning() {
    return this.run !== null && OPEN.has(this.run.status);
  }

  /** @param {RunState} run */
  #begin(run) {
    this.stream?.close();
    this.run = run;
    const age = run.queuedAt ? Date.now() - Date.parse(run.queuedAt) : 0;
    this.since = performance.now() - Math.max(0, age);
    this.askedAt = 0;
    this.before = null;
    this.answer.replace(run.text);
  }

  /** Follows a run that is queued or running, from its first token. @param {RunState} run */
  follow(run) {
    this.#begin({ ...run, text: "" });
    const followed = /** @type {RunState} */ (this.run);
    // What an earlier run still tells is not for here.
    const mine = (/** @type {() => void} */ action) => () => {
      if (this.run === followed) action();
    };
    this.stream = new RunStream(followed, {
      onText: (fresh) => mine(() => this.#grow(fresh))(),
      onReplace: mine(() => {
        this.answer.replace(followed.text);
        this.#paintText();
      }),
      onState: mine(() => this.#paint()),
    });
    this.#paint();
  }

  /** @param {string} fresh */
  #grow(fresh) {
    this.answer.append(fresh);
    this.#paintText();
  }

  /**
   * Shows a run by its id: follows it if it goes on, else shows how it ended.
   * @param {string} id
   * @param {number} [version] the number of the version it sent
   */
  async open(id, version) {
    const run = { ...(await fetchRun(id)), version };
    if (OPEN.has(run.status)) {
      this.follow(run);
      return;
    }
    this.#begin(run);
    this.#paint();
  }

  async stop() {
    if (!this.run) return;
    this.stopButton.disabled = true;
    await call(`runs/${this.run.id}/cancel`, { method: "POST" }).catch(toastError);
    this.stopButton.disabled = false;
  }

  get #stateWord() {
    return this.isRunning && this.stream?.isAway ? "Reconnecting" : stateWord(this.run?.status ?? "idle");
  }

  #paint() {
    const status = this.run?.status ?? "idle";
    const state = one("[data-run-state]", this.root, HTMLElement);
    this.root.dataset.status = status;
    state.dataset.state = status === "lost" ? "failed" : status;
    state.textContent = this.#stateWord;
    this.stopButton.hidden = !this.isRunning;
    const send = one("[data-send-run]", this.root, HTMLAnchorElement);
    send.hidden = this.run === null || this.isRunning;
    if (this.run) send.href = sendPage("run", this.run.id);
    one("[data-output-idle]", this.root, HTMLElement).hidden = this.run !== null;
    if (this.run && !this.isRunning) this.answer.finish();
    this.#paintStructured();
    this.#paintText();
    this.#paintProblem();
    this.#paintFacts();
    showNotice(one("[data-output-notice]", this.root, HTMLElement), this.run?.model ?? "");
    this.wire.show(this.run);
    this.onState();
    this.onRun(this.run);
  }

  #paintText() {
    const isEmpty = !this.run?.text;
    const isMarkdown = this.view === "markdown";
    this.blocks.show(this.isRunning ? null : (this.run?.content ?? null));
    this.answer.raw.hidden = isEmpty || isMarkdown;
    this.answer.markdown.element.hidden = isEmpty || !isMarkdown || this.blocks.isApart;
    one("[data-copy-answer]", this.root, HTMLElement).hidden = isEmpty;
    one("[data-output-waiting]", this.root, HTMLElement).hidden = !(isEmpty && this.isRunning);
  }

  /* The verdict on a structured answer is what one wants to see of it, unless another way of looking was chosen. */
  #paintStructured() {
    const isThere = this.run !== null && !this.isRunning && this.structured.show(this.run);
    one("#tab-json", this.root, HTMLElement).hidden = !isThere;
    if (!isThere && this.view === "json") this.#turnTo("#tab-text");
    if (!this.run?.structured || this.judged === this.run.id) return;
    this.judged = this.run.id;
    if (this.view === "markdown") this.#turnTo("#tab-json");
  }

  /* Before the first token: say that it works, and for how long it has. */
  #tick() {
    if (!this.run || !this.isRunning || this.run.text) return;
    const waited = performance.now() - this.since;
    one("[data-output-waiting]", this.root).textContent = waitingWords(this.run, waited / 1000, this.before);
    if (this.run.status === "queued" && (this.askedAt === 0 || waited - this.askedAt > PLACE_MS) && waited > PLACE_MS) {
      this.askedAt = waited;
      void this.#askPlace(this.run.id);
    }
  }

  /** @param {string} id */
  async #askPlace(id) {
    const before = await runsBefore(id);
    if (this.run?.id === id) this.before = before;
  }

  #paintProblem() {
    const box = one("[data-output-problem]", this.root, HTMLElement);
    const problem = this.run && problemOf(this.run);
    box.hidden = !problem;
    if (!problem) return;
    box.className = `notice output-problem is-${problem.tone}`;
    if (problem.tone === "bad") box.setAttribute("role", "alert");
    else box.removeAttribute("role");
    one("[data-problem-icon]", box).replaceChildren(icon(ICONS[problem.tone]));
    one("[data-problem-title]", box).textContent = problem.title;
    one("[data-problem-message]", box).textContent = problem.message;
    one("[data-problem-next]", box).textContent = problem.next;
    one("[data-problem-action]", box, HTMLElement).hidden = !(problem.action && may("change"));
  }

  #paintFacts() {
    const row = one("[data-output-meta]", this.root, HTMLElement);
    const facts = this.run ? factsOf(this.run) : [];
    row.hidden = facts.length === 0;
    row.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }
}
