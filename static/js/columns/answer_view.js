/* The answer of a column: as it arrives, how it differs from another column's, what went wrong, its facts. */
import { el, icon, one } from "../dom.js";
import { OPEN, queuedRun, runState, RunStream } from "../run_stream.js";
import { factsOf, problemOf } from "../run_words.js";
import { figure, firstTokenMs, queuedMs } from "./spread.js";

/** @typedef {import("./spread.js").ComparedRun} ComparedRun */
/** @typedef {import("./word_diff.js").Difference} Difference */
/** @typedef {import("../run_stream.js").RunState} RunState */

/** More that is only in the other answer is counted, not shown. */
const MOST_GONE = 200;
/** What a page draws of one answer; all of it is on the page of the run. */
const MOST_SHOWN = 200_000;
/** No answer is compared with. */
export const PLAIN = "";
const ICONS = { bad: "circle-alert", warn: "triangle-alert", plain: "square" };

/** @param {import("./word_diff.js").Piece} piece */
function drawn({ op, text }) {
  if (op === "=") return text;
  if (op === "+") return el("ins", {}, text);
  const short = text.length > MOST_GONE ? `${text.slice(0, MOST_GONE / 2)} … ${(text.length - MOST_GONE / 2).toLocaleString()} more characters` : text;
  return el("del", { title: "Only in the other answer" }, short);
}

export class AnswerView {
  /**
   * @param {HTMLElement} root of the column
   * @param {() => void} onEnd the run that is shown has ended
   */
  constructor(root, onEnd) {
    this.root = root;
    this.onEnd = onEnd;
    this.box = one("[data-column-answer]", root, HTMLElement);
    this.waiting = one("[data-column-waiting]", root, HTMLElement);
    this.node = document.createTextNode("");
    /** @type {RunState | null} */
    this.run = null;
    /** The same run as the list has it. @type {ComparedRun | null} */
    this.told = null;
    /** @type {RunStream | null} */
    this.stream = null;
    /** Whether `run.text` is all there will be. */
    this.isWhole = false;
    this.pending = "";
    this.frame = 0;
    /** The run whose answer the marks are against, and how this one stands to it. */
    this.marked = PLAIN;
    /** @type {Difference["how"] | ""} */
    this.how = "";
    this.facts = "";
  }

  get isFollowed() {
    return this.stream?.isOpen ?? false;
  }

  /** Nothing was run here. */
  clear() {
    this.#close();
    this.run = null;
    this.isWhole = false;
    this.#draw("");
    this.#paint();
  }

  /**
   * Shows a run, which is followed if it goes on.
   * @param {ComparedRun} told
   * @param {string | undefined} text of one that has ended, if it is known
   */
  show(told, text) {
    const same = this.run?.id === told.id;
    this.told = told;
    this.#paintFacts();
    if (same && (this.isWhole || (OPEN.has(told.status) && this.isFollowed))) return;
    if (!OPEN.has(told.status)) {
      this.#close();
      this.run = runState({ ...told, output: text ?? (same ? this.run?.text : "") });
      this.isWhole = text !== undefined;
      this.#draw(this.run.text);
      this.#paint();
      if (this.isWhole) this.onEnd();
      return;
    }
    if (!same) this.#follow(told);
  }

  /** What has arrived of a run that cannot be followed. @param {string} text @param {string} status */
  catchUp(text, status) {
    if (!this.run || this.isWhole || this.isFollowed || (text === this.run.text && status === this.run.status)) return;
    this.run.text = text;
    this.run.status = status;
    this.#draw(text);
    this.#paint();
  }

  /** @param {ComparedRun} told */
  #follow(told) {
    this.#close();
    const run = queuedRun(told.id, told.model);
    run.status = told.status;
    this.run = run;
    this.isWhole = false;
    this.#draw("");
    this.stream = new RunStream(run, {
      onText: (fresh) => this.#append(fresh),
      onReplace: () => this.#draw(run.text),
      onState: () => this.#changed(run),
    });
    this.#paint();
  }

  /** @param {RunState} run */
  #changed(run) {
    if (run !== this.run) return;
    this.isWhole = !OPEN.has(run.status) && run.status !== "lost";
    if (this.isWhole) this.#draw(run.text);
    this.#paint();
    if (!OPEN.has(run.status)) this.onEnd();
  }

  #close() {
    this.stream?.close();
    this.stream = null;
  }

  /* Painted once a frame, however many pieces arrive. */
  /** @param {string} fresh */
  #append(fresh) {
    this.pending += fresh;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.node.appendData(this.pending);
      this.pending = "";
      this.#paintText();
    });
  }

  /** @param {string} text */
  #draw(text) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.pending = "";
    this.marked = PLAIN;
    this.node.data = text.slice(0, MOST_SHOWN);
    this.box.replaceChildren(this.node);
    if (text.length > MOST_SHOWN) this.box.append(el("span", { class: "diff-aside" }, " … the rest is on the page of the run"));
    this.#paintText();
  }

  /**
   * Marks what differs from the answer of another column. What is marked already stays: somebody may have selected it.
   * @param {string} against the run of that answer; PLAIN for no marks
   * @param {(text: string) => Difference} compare
   */
  mark(against, compare) {
    if (!this.run || this.marked === against) return;
    if (against === PLAIN) {
      this.how = "";
      this.#draw(this.run.text);
      return;
    }
    const { how, pieces } = compare(this.run.text);
    this.how = how;
    if (pieces.length > 0) this.box.replaceChildren(...pieces.map(drawn));
    else this.#draw(this.run.text);
    this.marked = against;
  }

  #paintText() {
    const { run } = this;
    const empty = !this.node.data;
    this.box.hidden = empty;
    const open = run !== null && OPEN.has(run.status);
    this.root.dataset.status = run?.status ?? "idle";
    this.waiting.hidden = !(run === null || (empty && open));
    if (run === null) this.waiting.textContent = "The answer appears here.";
    else if (open) this.waiting.textContent = run.status === "queued" ? "Waiting for its turn" : "Waiting for the first token";
  }

  #paint() {
    this.#paintText();
    this.#paintProblem();
    this.#paintFacts();
  }

  /* The time to the first token is that of the spread above: from being sent. How long it queued is said beside it. */
  #paintFacts() {
    const { run, told } = this;
    const row = one("[data-column-facts]", this.root, HTMLElement);
    row.hidden = run === null;
    if (!run) return;
    const facts = OPEN.has(run.status) ? [] : factsOf(run).filter(([name]) => name !== "First token");
    const first = told && told.id === run.id ? firstTokenMs(told) : null;
    if (told && first !== null) facts.unshift(["First token", figure(first, "ms")], ["Queued", figure(queuedMs(told), "ms")]);
    // Told again each second: what is the same stays, with the focus that may be in it.
    const key = JSON.stringify([run.id, facts]);
    if (key === this.facts) return;
    this.facts = key;
    const link = el("div", {}, el("dt", { class: "visually-hidden" }, "Run"), el("dd", {}, el("a", { href: `/runs/${run.id}/` }, "Open run")));
    row.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))), link);
  }

  #paintProblem() {
    const box = one("[data-column-notice]", this.root, HTMLElement);
    const problem = this.run && (this.isWhole || this.run.status === "lost" || this.run.error) ? problemOf(this.run) : null;
    box.hidden = !problem;
    if (!problem) return;
    box.className = `notice output-problem is-${problem.tone}`;
    one("[data-problem-icon]", box).replaceChildren(icon(ICONS[problem.tone]));
    one("[data-problem-title]", box).textContent = problem.title;
    one("[data-problem-message]", box).textContent = problem.message;
    one("[data-problem-next]", box).textContent = problem.next;
  }
}
