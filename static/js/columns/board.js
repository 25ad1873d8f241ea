/* The columns side by side: one set of values, run and stopped together, one answer of each looked at, what differs marked. */
import { ApiError, call, create, newKey } from "../api.js";
import { columnsPage } from "../addresses.js";
import { one } from "../dom.js";
import { askToRun } from "../editor/run_question.js";
import { may } from "../sharing/permissions.js";
import { clearToasts, toast, toastError } from "../toast.js";
import { ColumnView } from "./column.js";
import { ColumnTabs } from "./column_tabs.js";
import { Differences } from "./differences.js";
import { KeptSetup } from "./kept_setup.js";
import { LETTERS, MAX_COLUMNS, MIN_COLUMNS } from "./overrides.js";
import { SharedValues } from "./shared_values.js";
import { columnDoubts, totalWords } from "./size_words.js";
import { ENDED, stateOf, stateWords } from "./spread.js";

/** @typedef {import("./overrides.js").Column} Settings */
/** @typedef {import("./spread.js").ComparedRun} ComparedRun */
/** @typedef {{id: string, repetitions: number, columns: (Settings & {runs: ComparedRun[]})[], variables: Record<string, string>, counts: Record<string, number>}} Comparison */
/** @typedef {{promptId: string, comparison: string | null, columns: Settings[], values: Record<string, string>, repetitions: number}} Page */

const POLL_MS = 1000;
/** Nobody looks: a tab in the background asks seldom. */
const POLL_HIDDEN_MS = 10_000;

export class Board {
  /**
   * @param {HTMLElement} root
   * @param {Page} page
   */
  constructor(root, page) {
    this.root = root;
    this.page = page;
    this.list = one("[data-columns]", root, HTMLElement);
    this.repeat = one("[data-repetitions]", document, HTMLInputElement);
    this.setup = new KeptSetup(page.promptId);
    this.values = new SharedValues(page.promptId, () => this.#paintValues());
    /** @type {ColumnView[]} */
    this.columns = [];
    /** @type {Comparison | null} */
    this.comparison = null;
    /** Answers of runs that have ended, by run id. @type {Map<string, string>} */
    this.texts = new Map();
    this.repetition = 0;
    this.tabs = new ColumnTabs(one("[data-column-tabs]", root, HTMLElement), this.list, (index) => this.focus(index));
    this.differences = new Differences(one("[data-base]", root, HTMLElement), () => this.differences.mark(this.columns));
    this.busy = false;
    this.key = newKey();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** Called with a column to be kept as a version. @type {(column: ColumnView) => void} */
    this.onKeep = () => {};
    this.#bind();
  }

  #bind() {
    one("[data-run-all]").addEventListener("click", () => void this.run());
    one("[data-stop-all]").addEventListener("click", () => void this.stop());
    one("[data-retry]").addEventListener("click", () => void this.retry());
    this.repeat.addEventListener("change", () => this.#paintValues());
    one("[data-add-column]").addEventListener("click", () => void this.add());
    one("[data-answer-previous]").addEventListener("click", () => this.walk(-1));
    one("[data-answer-next]").addEventListener("click", () => this.walk(1));
    document.addEventListener("visibilitychange", () => document.hidden || (this.isOpen && this.#poll(0)));
    window.addEventListener("popstate", () => location.reload());
  }

  /** @returns {Promise<void>} what `run` waits for: until then nobody knows which values are asked for */
  start = () => (this.started = this.#read());
  async #read() {
    const left = this.page.comparison ? null : this.setup.read();
    if (left) this.repeat.value = String(left.repetitions);
    for (const settings of left?.columns ?? this.page.columns) this.#place(settings);
    this.#renumber();
    await Promise.all(this.columns.map((column) => column.open()));
    await this.values.start(this.page.comparison ? this.page.values : null);
    this.#paintValues();
    if (this.page.comparison) await this.#load(await call(`comparisons/${this.page.comparison}`));
    this.#paint();
  }

  /** @param {Settings} settings */
  #place(settings) {
    const column = new ColumnView(
      {
        promptId: this.page.promptId,
        onChange: () => this.#paintValues(),
        onSize: () => this.#paintSize(),
        onEnd: () => this.#ended(),
        onKeep: (kept) => this.onKeep(kept),
        onRemove: (gone) => this.#remove(gone),
        onShow: (repetition) => this.show(repetition),
      },
      settings,
    );
    this.columns.push(column);
    this.list.append(column.element);
    return column;
  }

  /** One more column, like the last. */
  async add() {
    const last = this.columns.at(-1);
    if (!last || this.columns.length >= MAX_COLUMNS || !may("run")) return;
    const column = this.#place(last.settings);
    this.#renumber();
    await column.open();
    this.#paint();
    column.input.focus();
  }

  /** @param {ColumnView} column */
  #remove(column) {
    if (this.columns.length <= MIN_COLUMNS) return;
    column.answer.clear();
    column.element.remove();
    this.columns = this.columns.filter((each) => each !== column);
    this.#renumber();
    this.#paintValues();
    this.#paint();
    this.columns.at(-1)?.element.focus();
  }

  #renumber() {
    for (const [index, column] of this.columns.entries()) {
      column.place(index);
      one("[data-column-remove]", column.element, HTMLButtonElement).hidden = this.columns.length <= MIN_COLUMNS || !may("run");
      one("[data-column-keep]", column.element, HTMLButtonElement).hidden = !may("change");
    }
    const letters = LETTERS.slice(0, this.columns.length);
    this.differences.offer(letters);
    this.tabs.offer(this.columns);
    one("[data-add-column]", document, HTMLButtonElement).hidden = this.columns.length >= MAX_COLUMNS || this.columns.length === 0 || !may("run");
  }

  /** @param {number} index of a column */
  focus(index) {
    const column = this.columns[index];
    column?.element.focus({ preventScroll: true });
    column?.element.scrollIntoView({ block: "nearest", inline: "start" });
  }

  /** @returns {ColumnView | undefined} the one that has the focus */
  get focused() {
    return this.columns.find((column) => column.element.contains(document.activeElement));
  }

  get isOpen() {
    return this.comparison !== null && stateOf(this.#allRuns).open > 0;
  }

  get #times() {
    return this.repeat.value === "" ? 1 : Number(this.repeat.value);
  }

  get #allRuns() {
    return this.columns.flatMap((column) => column.runs);
  }

  #paintValues() {
    if (!this.comparison && !this.page.comparison && this.columns.every(({ version }) => version)) {
      this.setup.keep({ columns: this.columns.map(({ settings }) => settings), repetitions: this.#times });
    }
    this.values.show(this.columns.flatMap((column) => (column.version ? [column.version] : [])));
    const values = this.values.read();
    for (const column of this.columns) column.measure(values);
    this.#paintSize();
  }

  #paintSize() {
    one("[data-board-size]", this.root).textContent = totalWords(this.columns.map(({ estimate }) => estimate.size), this.#times);
  }

  /** Runs every column so many times. What ran before stays at its own address. */
  async run() {
    await this.started;
    if (this.busy || !may("run")) return;
    clearToasts();
    if (this.isOpen) {
      toast("It is still running. Stop it first, or wait.", { tone: "warn" });
      return;
    }
    if (!this.values.check()) return;
    this.busy = true;
    const sizes = await Promise.all(this.columns.map((column) => column.sized()));
    if (await askToRun(columnDoubts(sizes))) await this.#runNow();
    this.busy = false;
    this.#paint();
  }

  async #runNow() {
    const body = { columns: this.columns.map((column) => column.settings), variables: this.values.read(), repetitions: this.#times };
    try {
      const made = await create(`prompts/${this.page.promptId}/comparisons`, body, this.key);
      this.key = newKey();
      history.pushState(null, "", columnsPage(this.page.promptId, { comparison: made.id }));
      this.repetition = 0;
      await this.#load(made);
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      this.#refused(error);
    }
  }

  /** Shows a refusal at the field it is about. @param {unknown} error */
  #refused(error) {
    const place = error instanceof ApiError ? /^columns\.(\d)\.?(.*)$/.exec(error.field) : null;
    const column = place && this.columns[Number(place[1])];
    if (column && error instanceof ApiError) column.showError(place[2], error.message);
    else if (error instanceof ApiError && error.field === "repetitions") this.repeat.focus();
    if (!column) toastError(error);
  }

  async stop() {
    if (!this.comparison || !this.isOpen) return;
    await call(`comparisons/${this.comparison.id}/cancel`, { method: "POST", body: {} }).catch(toastError);
    this.#poll(0);
  }

  /** Runs again what failed or was stopped. */
  async retry() {
    if (!this.comparison || this.busy) return;
    this.busy = true;
    await call(`comparisons/${this.comparison.id}/retry`, { method: "POST", body: {} }).catch(toastError);
    this.busy = false;
    await this.#refresh();
  }

  /** @param {Comparison} comparison */
  async #load(comparison) {
    this.#take(comparison);
    for (const column of this.columns) column.settle();
    await this.#readTexts();
    this.#poll(POLL_MS);
  }

  /** @param {Comparison} comparison */
  #take(comparison) {
    this.comparison = comparison;
    this.repetition = Math.min(this.repetition, comparison.repetitions - 1);
    for (const [index, { runs }] of comparison.columns.entries()) this.columns[index]?.load(runs);
    this.#showRepetition();
    this.#paint();
  }

  /** @param {number} wait */
  #poll(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.#refresh(), document.hidden ? Math.max(wait, POLL_HIDDEN_MS) : wait);
  }

  async #refresh() {
    if (!this.comparison) return;
    const { id } = this.comparison;
    try {
      const told = await call(`comparisons/${id}`);
      // Another one was started meanwhile.
      if (this.comparison?.id !== id) return;
      this.#take(told);
      await this.#readTexts();
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status > 0 && error.status < 500)) {
        toastError(error);
        return;
      }
    }
    if (this.isOpen) this.#poll(POLL_MS);
  }

  /* The answers that are looked at: those that have ended, and those that no stream brings (a person has only so many). */
  async #readTexts() {
    const lacking = this.columns.filter(({ shown, answer }) => shown && !this.texts.has(shown.id) && (ENDED.has(shown.status) ? !answer.isWhole || answer.run?.id !== shown.id : !answer.isFollowed));
    if (!this.comparison || lacking.length === 0) return;
    const { id } = this.comparison;
    const { repetition } = this;
    const { results } = await call(`comparisons/${id}/answers?repetition=${repetition}`);
    if (this.comparison?.id !== id || this.repetition !== repetition) return;
    for (const { column, id: run, status, output } of results) {
      if (ENDED.has(status)) this.texts.set(run, output);
      else this.columns[column]?.answer.catchUp(output, status);
    }
    this.#showRepetition();
  }

  #showRepetition() {
    for (const column of this.columns) column.show(this.repetition, this.texts);
    this.differences.mark(this.columns);
  }

  /** Another answer of each column. @param {number} repetition */
  show(repetition) {
    if (!this.comparison || repetition < 0 || repetition >= this.comparison.repetitions || repetition === this.repetition) return;
    this.repetition = repetition;
    this.#showRepetition();
    this.#paint();
    void this.#readTexts().catch(toastError);
  }

  /** @param {number} step */
  walk(step) {
    this.show(this.repetition + step);
  }

  #ended() {
    for (const { answer } of this.columns) if (answer.run && answer.isWhole) this.texts.set(answer.run.id, answer.run.text);
    this.differences.mark(this.columns);
  }

  #paint() {
    const told = stateOf(this.#allRuns);
    const state = one("[data-board-state]", this.root, HTMLElement);
    state.dataset.state = told.state;
    const words = stateWords(told);
    if (state.textContent !== words) state.textContent = words;
    one("[data-stop-all]", document, HTMLButtonElement).hidden = told.open === 0;
    one("[data-run-all]", document, HTMLButtonElement).setAttribute("aria-disabled", String(told.open > 0 || this.busy));
    const broken = this.#allRuns.filter(({ status }) => status === "failed" || status === "cancelled").length;
    one("[data-retry]", document, HTMLButtonElement).hidden = broken === 0 || told.open > 0 || !may("run");
    one("[data-retry-label]").textContent = `Retry ${broken.toLocaleString()} unfinished`;
    this.#paintWalk();
    this.tabs.paint();
  }

  #paintWalk() {
    const most = this.comparison?.repetitions ?? 1;
    one("[data-answer-walk]", this.root, HTMLElement).hidden = most < 2;
    one("[data-answer-place]", this.root).textContent = `Answer ${this.repetition + 1} of ${most}`;
    one("[data-answer-previous]", this.root, HTMLButtonElement).disabled = this.repetition === 0;
    one("[data-answer-next]", this.root, HTMLButtonElement).disabled = this.repetition >= most - 1;
  }
}
