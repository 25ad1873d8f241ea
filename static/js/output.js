/* The output pane: the answer as it arrives, what to know about it, its facts. */
import { sendPage } from "./addresses.js";
import { call } from "./api.js";
import { el, icon, one } from "./dom.js";
import { showNotice } from "./model_notices.js";
import { OPEN, RunStream, runState } from "./run_stream.js";
import { factsOf, problemOf, stateWord } from "./run_words.js";
import { Tail } from "./tail.js";
import { toastError } from "./toast.js";
import { Wire } from "./wire.js";

/** @typedef {import("./run_stream.js").RunState} RunState */

const TICK_MS = 100;
const ICONS = { bad: "circle-alert", warn: "triangle-alert", plain: "square" };

export class Output {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onState
   */
  constructor(root, onState) {
    this.root = root;
    this.onState = onState;
    this.text = one("[data-output-text]", root, HTMLElement);
    this.tail = new Tail(one("[data-output-scroll]", root, HTMLElement), this.text);
    this.wire = new Wire(root);
    this.stopButton = one("[data-stop]", root, HTMLButtonElement);
    this.stopButton.addEventListener("click", () => void this.stop());
    /** @type {RunState | null} */
    this.run = null;
    /** @type {RunStream | null} */
    this.stream = null;
    this.since = 0;
    setInterval(() => this.#tick(), TICK_MS);
  }

  get isRunning() {
    return this.run !== null && OPEN.has(this.run.status);
  }

  /** Follows a run that is queued or running, from its first token. @param {RunState} run */
  follow(run) {
    this.stream?.close();
    this.run = run;
    this.since = performance.now();
    this.tail.replace("");
    this.stream = new RunStream(run, {
      onText: (fresh) => {
        this.tail.append(fresh);
        this.#paintText();
      },
      onReplace: () => {
        this.tail.replace(run.text);
        this.#paintText();
      },
      onState: () => this.#paint(),
    });
    this.#paint();
  }

  /**
   * Shows a run by its id: follows it if it goes on, else shows how it ended.
   * @param {string} id
   * @param {number} [version] the number of the version it sent
   */
  async open(id, version) {
    const run = { ...runState(await call(`runs/${encodeURIComponent(id)}`)), version };
    if (OPEN.has(run.status)) {
      this.follow({ ...run, text: "" });
      return;
    }
    this.run = run;
    this.tail.replace(run.text);
    this.#paint();
  }

  async stop() {
    if (!this.run) return;
    this.stopButton.disabled = true;
    await call(`runs/${this.run.id}/cancel`, { method: "POST" }).catch(toastError);
    this.stopButton.disabled = false;
  }

  #paint() {
    const status = this.run?.status ?? "idle";
    const state = one("[data-run-state]", this.root, HTMLElement);
    this.root.dataset.status = status;
    state.dataset.state = status === "lost" ? "failed" : status;
    state.textContent = stateWord(status);
    this.stopButton.hidden = !this.isRunning;
    const send = one("[data-send-run]", this.root, HTMLAnchorElement);
    send.hidden = this.run === null || this.isRunning;
    if (this.run) send.href = sendPage("run", this.run.id);
    one("[data-output-idle]", this.root, HTMLElement).hidden = this.run !== null;
    this.#paintText();
    this.#paintProblem();
    this.#paintFacts();
    showNotice(one("[data-output-notice]", this.root, HTMLElement), this.run?.model ?? "");
    this.wire.show(this.run);
    this.onState();
  }

  #paintText() {
    const empty = !this.run?.text;
    this.text.hidden = empty;
    one("[data-output-waiting]", this.root, HTMLElement).hidden = !(empty && this.isRunning);
  }

  /* Before the first token: say that it works, and for how long it has. */
  #tick() {
    if (!this.run || !this.isRunning) return;
    const seconds = ((performance.now() - this.since) / 1000).toFixed(1);
    const word = stateWord(this.run.status);
    if (!this.run.text) {
      const what = this.run.status === "queued" ? "Waiting for its turn" : "Waiting for the first token";
      one("[data-output-waiting]", this.root).textContent = `${what}, ${seconds} s`;
    }
    const state = one("[data-run-state]", this.root);
    if (state.textContent !== word) state.textContent = word;
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
  }

  #paintFacts() {
    const row = one("[data-output-meta]", this.root, HTMLElement);
    const facts = this.run ? factsOf(this.run) : [];
    row.hidden = facts.length === 0;
    row.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }
}
