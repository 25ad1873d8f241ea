/* One column: which version with which model and parameters, its answers, and the one that is looked at. */
import { call } from "../api.js";
import { versionPage } from "../addresses.js";
import { el, fromTemplate, icon, one } from "../dom.js";
import { Estimate } from "../editor/estimate.js";
import { sentence } from "../spec.js";
import { AnswerView } from "./answer_view.js";
import { ColumnFields } from "./column_fields.js";
import { applied, changes, columnName, LETTERS } from "./overrides.js";
import { ENDED, figure, figuresOf, groupsOf, stateOf, stateWords } from "./spread.js";

/** @typedef {import("../spec.js").Spec} Spec */
/** @typedef {import("../spec.js").VariableCard} VariableCard */
/** @typedef {import("./overrides.js").Column} Settings */
/** @typedef {import("./spread.js").ComparedRun} ComparedRun */
/** @typedef {{number: number, message: string, author: string | null, spec: Spec, variables_used: string[]}} Version */
/**
 * @typedef {{
 *   promptId: string, onChange: () => void, onSize: () => void, onEnd: () => void, onKeep: (column: ColumnView) => void,
 *   onRemove: (column: ColumnView) => void, onShow: (repetition: number) => void,
 * }} Board what the column is part of
 */

const MARKS = /** @type {Record<string, string>} */ ({ queued: "clock", running: "play", succeeded: "check", failed: "circle-alert", cancelled: "square" });

/** How long a run waits for a count that is under way. */
const PATIENCE_MS = 400;

/** Versions never change: each is asked for once. @type {Map<string, Promise<Version>>} */
const versions = new Map();

/** @param {string} promptId @param {string | number} pointer @returns {Promise<Version>} */
function versionOf(promptId, pointer) {
  const path = `prompts/${promptId}/versions/${encodeURIComponent(pointer)}?include=variables`;
  const isNumber = /^\d+$/.test(String(pointer));
  const known = isNumber ? versions.get(path) : undefined;
  if (known) return known;
  const asked = call(path);
  if (isNumber) versions.set(path, asked);
  asked.catch(() => versions.delete(path));
  return asked;
}

export class ColumnView {
  /**
   * @param {Board} board
   * @param {Settings} settings
   */
  constructor(board, settings) {
    this.board = board;
    this.element = fromTemplate("column");
    this.wanted = settings;
    /** @type {Version | null} */
    this.version = null;
    /** @type {ComparedRun[]} */
    this.runs = [];
    /** What the runs were made with, to tell when it is something else by now. */
    this.ranWith = "";
    this.repetition = 0;
    this.painted = "";
    this.input = one("[data-column-version]", this.element, HTMLInputElement);
    this.fields = new ColumnFields(one("[data-column-fields]", this.element, HTMLElement), () => this.#changed());
    this.answer = new AnswerView(this.element, () => board.onEnd());
    this.strip = one("[data-column-strip]", this.element, HTMLElement);
    this.estimate = new Estimate(one("[data-estimate]", this.element, HTMLElement), () => board.onSize(), () => board.promptId);
    this.answer.clear();
    this.#bind();
  }

  #bind() {
    this.input.addEventListener("change", () => void this.choose(this.input.value.trim()));
    one("[data-column-keep]", this.element).addEventListener("click", () => this.board.onKeep(this));
    one("[data-column-remove]", this.element).addEventListener("click", () => this.board.onRemove(this));
    this.strip.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("button");
      if (button) this.board.onShow(Number(button.value));
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.target === this.element || event.isComposing || event.keyCode === 229) return;
      event.stopPropagation();
      this.element.focus();
    });
  }

  /** @returns {Settings} what it would send now */
  get settings() {
    if (!this.version) return this.wanted;
    return { version: this.version.number, ...this.fields.read() };
  }

  get name() {
    return columnName(this.settings);
  }

  /** @returns {Spec | null} */
  get spec() {
    const { model, parameters } = this.settings;
    return this.version && applied(this.version.spec, model, parameters);
  }

  get changes() {
    const { model, parameters } = this.settings;
    return this.version ? changes(this.version.spec, model, parameters) : [];
  }

  /** @param {number} index its place among the columns */
  place(index) {
    this.index = index;
    const letter = LETTERS[index];
    one("[data-column-letter]", this.element).textContent = letter;
    this.element.setAttribute("aria-label", `Column ${letter}`);
    this.input.setAttribute("aria-label", `Version of column ${letter}`);
    const remove = one("[data-column-remove]", this.element, HTMLButtonElement);
    remove.setAttribute("aria-label", `Remove column ${letter}`);
    remove.title = `Remove column ${letter}`;
  }

  /** Reads its version. @returns {Promise<void>} */
  async open() {
    const { version, model, parameters } = this.wanted;
    await this.#take(version, model, parameters);
  }

  /**
   * Counts what it would send with these values.
   * @param {Record<string, string>} values of all columns
   */
  measure(values) {
    const { spec, version } = this;
    if (!spec || !version) return;
    const used = version.variables_used.flatMap((name) => (Object.hasOwn(values, name) ? [[name, values[name]]] : []));
    this.estimate.note(spec, Object.fromEntries(used), "");
  }

  /** Its size, if it can be known soon. */
  async sized() {
    return { letter: LETTERS[this.index ?? 0], size: await this.estimate.settled(PATIENCE_MS) };
  }

  /** Another version, with the same model and parameters. @param {string | number} pointer */
  async choose(pointer) {
    const { model, parameters } = this.settings;
    await this.#take(pointer, model, parameters);
    this.board.onChange();
  }

  /**
   * @param {string | number} pointer
   * @param {string | null} model
   * @param {Record<string, any>} parameters
   */
  async #take(pointer, model, parameters) {
    try {
      this.version = await versionOf(this.board.promptId, pointer);
      this.say("");
    } catch (error) {
      this.say(pointer === "" ? "Choose a version." : `There is no version, label or branch “${pointer}”. ${/** @type {Error} */ (error).message}`);
      return;
    }
    this.input.value = String(this.version.number);
    this.fields.load(this.version.spec, model, parameters);
    this.#paintSettings();
  }

  /** It was saved: its version is the new one, which needs no other parameters. @param {number} number */
  async becomes(number) {
    const ran = this.ranWith === JSON.stringify(this.settings);
    await this.#take(number, null, {});
    // What ran is what was saved.
    if (ran) this.settle();
    this.board.onChange();
  }

  #changed() {
    this.#paintSettings();
    this.board.onChange();
  }

  /** @param {string} message */
  say(message) {
    const problem = one("[data-column-problem]", this.element, HTMLElement);
    problem.textContent = message;
    problem.hidden = !message;
  }

  /**
   * @param {string} field such as "parameters.temperature"
   * @param {string} message
   */
  showError(field, message) {
    const name = field.replace(/^parameters\./, "").split(".")[0];
    if (name === "version" || !this.fields.showError(name, message)) this.say(message);
    else one("[data-column-settings]", this.element, HTMLDetailsElement).open = true;
    if (name === "version") this.input.focus();
    this.element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #paintSettings() {
    const { version, spec, changes: changed } = this;
    if (!version || !spec) return;
    const about = one("[data-column-about]", this.element);
    about.replaceChildren(el("a", { href: versionPage(this.board.promptId, version.number) }, `v${version.number}`), " ", el("bdi", {}, version.message || "No message"));
    about.setAttribute("title", version.message || "");
    one("[data-column-sentence]", this.element).textContent = sentence(spec);
    const chip = one("[data-column-changed]", this.element, HTMLElement);
    chip.hidden = changed.length === 0;
    chip.textContent = `${changed.length} changed`;
    chip.title = `Not as version ${version.number} has it: ${changed.map(({ name }) => name.replaceAll("_", " ")).join(", ")}`;
    this.#paintKeep(changed.length);
    this.element.classList.toggle("is-stale", this.runs.length > 0 && this.ranWith !== JSON.stringify(this.settings));
  }

  /** @param {number} changed */
  #paintKeep(changed) {
    const keep = one("[data-column-keep]", this.element, HTMLButtonElement);
    const words = changed > 0 ? "Keep as a version" : `This is version ${this.version?.number} as it is`;
    keep.disabled = changed === 0;
    keep.title = changed > 0 ? `${words} (K)` : words;
  }

  /** The runs belong to what it holds now. */
  settle() {
    this.ranWith = JSON.stringify(this.settings);
    this.#paintSettings();
  }

  /**
   * What is known of its runs, by repetition.
   * @param {ComparedRun[]} runs
   */
  load(runs) {
    this.runs = runs;
    this.#paintState();
    this.#paintStrip();
    this.#paintSpread();
  }

  /** @param {number} repetition @param {Map<string, string>} texts of ended runs, by id */
  show(repetition, texts) {
    this.repetition = repetition;
    const run = this.runs[repetition];
    if (run) this.answer.show(run, texts.get(run.id));
    else this.answer.clear();
    this.#paintStrip();
  }

  /** @returns {ComparedRun | undefined} the run that is looked at */
  get shown() {
    return this.runs[this.repetition];
  }

  #paintState() {
    const told = stateOf(this.runs);
    const state = one("[data-column-state]", this.element, HTMLElement);
    const words = stateWords(told);
    state.dataset.state = told.state;
    if (state.textContent !== words) state.textContent = words;
    const errors = one("[data-column-errors]", this.element, HTMLElement);
    errors.hidden = told.failed === 0 || told.open === 0;
    errors.textContent = `${told.failed} failed`;
  }

  #paintStrip() {
    const several = this.runs.length > 1;
    one("[data-column-results]", this.element, HTMLElement).hidden = !several;
    if (!several) return;
    const groups = groupsOf(this.runs);
    const letters = new Set(groups.values()).size;
    const key = JSON.stringify([this.repetition, this.runs.map((run) => [run.id, run.status, groups.get(run.id)])]);
    // Told again each second: a mark that has the focus keeps it.
    if (key === this.painted) return;
    this.painted = key;
    const focused = this.strip.contains(document.activeElement) ? this.repetition : null;
    this.strip.replaceChildren(...this.runs.map((run, index) => el("li", {}, this.#mark(run, index, letters > 1 ? (groups.get(run.id) ?? "") : ""))));
    if (focused !== null) this.strip.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
    const words = one("[data-column-distinct]", this.element);
    words.textContent = groups.size < 2 ? "" : letters === 1 ? `All ${groups.size} answers are the same` : `${letters} different answers in ${groups.size}`;
  }

  /** @param {ComparedRun} run @param {number} index @param {string} group */
  #mark(run, index, group) {
    const tokens = run.usage.output_tokens;
    const facts = [run.status, tokens !== null && `${tokens.toLocaleString()} tokens`, group && `answer ${group}`, run.error?.message].filter(Boolean).join(", ");
    const attributes = { type: "button", class: `answer-mark is-${run.status}`, value: index, "aria-pressed": String(index === this.repetition), title: facts };
    return el("button", attributes, ENDED.has(run.status) && run.status === "succeeded" && group ? "" : icon(MARKS[run.status] ?? "clock"), el("span", { class: "visually-hidden" }, "Answer "), el("span", {}, String(index + 1)), group ? el("sub", {}, group) : "");
  }

  #paintSpread() {
    const rows = figuresOf(this.runs).filter(({ spread }) => spread !== null);
    const table = one("[data-column-spread]", this.element, HTMLElement);
    table.hidden = rows.length === 0;
    one("[data-column-figures]", table).replaceChildren(
      ...rows.map(({ name, unit, spread }) => {
        const cells = spread ? [spread.least, spread.median, spread.most] : [];
        return el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((value) => el("td", {}, figure(value, unit))));
      }),
    );
  }

  /**
   * How the answer that is looked at stands to that of the base column.
   * @param {string} words "" for nothing to say
   */
  paintSame(words) {
    const box = one("[data-column-same]", this.element, HTMLElement);
    box.hidden = !words;
    if (box.textContent !== words) box.textContent = words;
  }
}
