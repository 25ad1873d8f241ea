/* One row of a batch, opened: what went in, every answer whole, each check with its reason, the way to the run. */
import { ApiError, call } from "../api.js";
import { copyFrom } from "../copy.js";
import { el, icon } from "../dom.js";
import { stopWord } from "../run_words.js";
import { CELLS, verdictWords, versionWords } from "./batch_words.js";
import { shownValue } from "./case_sheet.js";
import { measuredWords } from "./durations.js";

/** @typedef {import("./batch_words.js").Batch} Batch */
/** @typedef {import("./batch_words.js").Cell} Cell */
/** @typedef {{index: number, values: Record<string, unknown>, expected: string | null, cells: (Cell | null)[]}} WholeRow */

/** More than this of one text is not laid out here. */
const MOST_SHOWN = 200_000;

export class ResultPanel {
  /**
   * @param {import("./side_panel.js").SidePanel} side
   * @param {string} batchId
   */
  constructor(side, batchId) {
    this.side = side;
    this.batchId = batchId;
    /** @type {AbortController | null} */
    this.asking = null;
    /** The row and version that are open; null for none. @type {{index: number, position: number | null} | null} */
    this.open = null;
  }

  /**
   * @param {Batch} batch
   * @param {number} index of the row
   * @param {number | null} position of the version; null for all
   */
  async show(batch, index, position) {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const isOther = this.open?.index !== index || this.open.position !== position;
    this.open = { index, position };
    const title = [`Row ${(index + 1).toLocaleString()}`, ...(position === null ? [] : [versionWords(batch.versions[position])])].join(", ");
    if (isOther || !this.side.isOpen) this.side.open(title, [el("p", { class: "soft" }, "Loading…")]);
    try {
      /** @type {WholeRow} */
      const row = await call(`batches/${this.batchId}/results/${index}`, { signal: asking.signal });
      const scroll = this.side.body.scrollTop;
      this.side.open(title, panelOf(batch, row, position));
      if (!isOther) this.side.body.scrollTop = scroll;
    } catch (error) {
      if (asking.signal.aborted) return;
      this.side.open(title, [el("p", { class: "field-error" }, error instanceof ApiError ? error.sentence : "This row cannot be shown.")]);
    }
  }

  closed() {
    this.asking?.abort();
    this.open = null;
  }
}

/** @param {Batch} batch @param {WholeRow} row @param {number | null} position */
function panelOf(batch, row, position) {
  const versions = position === null ? batch.versions : [batch.versions[position]];
  const answers = versions.map((version) => answerOf(batch, version, row.cells[version.position] ?? null, position === null));
  const inputs = batch.columns.flatMap((name) => [el("dt", { class: "mono" }, name), el("dd", {}, textOf(row.values[name]))]);
  const values = part("Values", inputs.length > 0 ? el("dl", { class: "panel-values" }, ...inputs) : el("p", { class: "soft" }, "This prompt has no variables."));
  const expected = row.expected === null ? [] : [part("Expected", textBox(row.expected))];
  return position === null ? [values, ...expected, ...answers] : [...answers, ...expected, values];
}

/** @param {string} title @param {...Node} content */
function part(title, ...content) {
  return el("section", { class: "panel-part" }, el("h3", {}, title), ...content);
}

/** @param {unknown} value */
function textOf(value) {
  if (value === undefined || value === null) return el("span", { class: "cell-word" }, "not given");
  if (value === "") return el("span", { class: "cell-word" }, "empty text");
  return textBox(shownValue(value));
}

/** @param {string} text */
function textBox(text) {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  const box = el("pre", { class: "panel-text", dir: "auto", tabindex: 0 }, shown);
  if (shown === text) return box;
  return el("div", {}, box, el("p", { class: "field-help" }, `The first ${MOST_SHOWN.toLocaleString()} of ${text.length.toLocaleString()} characters. The download has all of them.`));
}

/** @param {Batch} batch @param {Batch["versions"][number]} version @param {Cell | null} cell @param {boolean} named */
function answerOf(batch, version, cell, named) {
  const title = named ? versionWords(version) : "Answer";
  if (!cell) return part(title, el("p", { class: "soft" }, "Not sent yet."));
  const { word, icon: name, tone } = CELLS[cell.status];
  const state = el("p", { class: `panel-state mark is-${tone}` }, icon(name), word);
  const error = cell.error ? [el("p", { class: "notice is-warn", role: "note" }, icon("triangle-alert"), el("span", { class: "notice-text", dir: "auto" }, cell.error.message))] : [];
  const text = cell.output ?? cell.excerpt;
  const output = text === "" ? el("p", { class: "soft" }, emptyWords(cell)) : textBox(text);
  const checks = cell.checks.length > 0 ? [el("ul", { class: "panel-checks", "aria-label": "Checks" }, ...cell.checks.map((verdict, index) => checkRow(batch.checks[index]?.label ?? "", verdict)))] : [];
  return part(title, state, ...error, ...checks, output, factsOf(cell), actionsOf(cell, text));
}

/** @param {Cell} cell */
function emptyWords({ status, stop_reason: reason }) {
  if (status === "running" || status === "waiting") return "No answer yet.";
  return reason ? `The answer is empty. Stop reason: ${stopWord(reason)}.` : "There is no answer.";
}

/** @param {string} label @param {import("./batch_words.js").Verdict | null} verdict */
function checkRow(label, verdict) {
  const { word, icon: name, tone } = verdictWords(verdict);
  const reason = verdict?.reason;
  const about = reason ? [el("span", { class: "panel-reason", dir: "auto" }, reason)] : [];
  return el("li", { class: "panel-check" }, el("span", { class: `mark is-${tone}` }, icon(name), word), el("span", { class: "panel-check-main" }, el("span", { dir: "auto" }, label), ...about));
}

/** @param {Cell} cell */
function factsOf({ ttft_ms: first, duration_ms: whole, input_tokens: input, output_tokens: output, stop_reason: reason, attempt }) {
  /** @type {[string, string | null][]} */
  const facts = [
    ["First token", first === null ? null : measuredWords(first / 1000)],
    ["Whole answer", whole === null ? null : measuredWords(whole / 1000)],
    ["In", input === null ? null : `${input.toLocaleString()} tokens`],
    ["Out", output === null ? null : `${output.toLocaleString()} tokens`],
    ["Stop", reason ? stopWord(reason) : null],
    ["Attempt", attempt > 0 ? String(attempt + 1) : null],
  ];
  return el("dl", { class: "panel-facts numeric" }, ...facts.filter(([, value]) => value !== null).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, /** @type {string} */ (value)))));
}

/** @param {Cell} cell @param {string} text */
function actionsOf({ run, run_visible: visible }, text) {
  const box = el("div", { class: "button-group" });
  if (run && visible) box.append(el("a", { class: "button button-small", href: `/runs/${run}/` }, icon("activity"), "Open the run"));
  if (text !== "") {
    const copy = el("button", { class: "button button-small", type: "button" }, icon("copy"), el("span", { "data-copy-label": true }, "Copy the answer"));
    copy.addEventListener("click", () => void copyFrom(copy, text));
    box.append(copy);
  }
  return box;
}
