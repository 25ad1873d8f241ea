/* A new batch: what is chosen, what it will take, and its start. */
import { ApiError, call, create, newKey } from "../api.js";
import { afterQuiet, el, icon, one } from "../dom.js";
import { readNumber } from "../spec.js";
import { toastError } from "../toast.js";
import { needsExpected, problemOf, sentCheck } from "./check_kinds.js";
import { CheckList } from "./check_list.js";
import { counted, estimateFacts, estimateWarnings, productWords } from "./estimate_words.js";
import { VersionRows } from "./version_rows.js";

/** @typedef {import("./reading.js").Dataset} Dataset */
/** @typedef {import("./batch_words.js").Batch} Batch */

const QUIET_MS = 350;

export class BatchForm {
  /**
   * @param {HTMLFormElement} form
   * @param {{promptId: string, offers: import("./version_rows.js").Offers}} page
   */
  constructor(form, page) {
    this.form = form;
    this.promptId = page.promptId;
    this.dataset = one("[data-batch-dataset]", form, HTMLSelectElement);
    this.start = one("[data-batch-start]", form, HTMLButtonElement);
    this.error = one("[data-estimate-error]", form, HTMLElement);
    const changed = () => this.#changed();
    this.versions = new VersionRows(one("[data-version-rows]", form, HTMLElement), one("[data-version-add]", form, HTMLButtonElement), page.offers, changed);
    const parts = { list: one("[data-checks]", form, HTMLElement), kinds: one("[data-check-kinds]", form, HTMLElement), none: one("[data-checks-none]", form, HTMLElement) };
    this.checks = new CheckList(form, parts, changed);
    this.numbers = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[data-parameter]")]);
    this.estimateSoon = afterQuiet(() => void this.#estimate(), QUIET_MS);
    /** @type {Dataset[]} */
    this.datasets = [];
    /** @type {AbortController | null} */
    this.asking = null;
    this.key = newKey();
    this.busy = false;
    this.dataset.addEventListener("change", changed);
    for (const field of this.numbers) field.addEventListener("input", changed);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send();
    });
  }

  /** @param {Dataset[]} datasets @param {string} wanted */
  offerDatasets(datasets, wanted) {
    this.datasets = datasets.filter(({ status }) => status === "ready");
    this.dataset.replaceChildren(...this.datasets.map(({ id, name, count }) => new Option(`${name} (${counted(count, "row")})`, id)));
    if (this.datasets.some(({ id }) => id === wanted)) this.dataset.value = wanted;
    one("[data-batch-no-cases]", this.form, HTMLElement).hidden = this.datasets.length > 0;
    this.#changed();
  }

  /** What an earlier batch had. @param {Batch} batch */
  repeat(batch) {
    this.versions.load(batch.versions.map(({ pointer }) => ({ version: pointer, model: "" })));
    this.checks.load(batch.checks);
    const [{ parameters }] = batch.versions;
    for (const field of this.numbers) field.value = String(parameters[field.dataset.parameter ?? ""] ?? "");
  }

  body() {
    const numbers = this.numbers.flatMap((field) => {
      const value = readNumber(field.value);
      return value === undefined ? [] : [[field.dataset.parameter, value]];
    });
    const name = one("[data-batch-name]", this.form, HTMLInputElement).value.trim();
    return {
      ...(name ? { name } : {}),
      dataset: this.dataset.value,
      versions: this.versions.chosen.map(({ version, model }) => ({ version, ...(model ? { model } : {}) })),
      ...(numbers.length > 0 ? { parameters: Object.fromEntries(numbers) } : {}),
      checks: this.checks.checks.map(sentCheck),
    };
  }

  #changed() {
    this.key = newKey();
    this.#fail("");
    this.estimateSoon();
  }

  async #estimate() {
    this.asking?.abort();
    const body = this.body();
    if (!body.dataset || !body.versions[0]?.version || this.checks.checks.some((check) => problemOf(check) !== "")) return;
    const asking = (this.asking = new AbortController());
    try {
      const estimate = await call(`prompts/${this.promptId}/batches/estimate`, { method: "POST", body, signal: asking.signal });
      if (this.asking === asking) this.#show(estimate);
    } catch (error) {
      if (!asking.signal.aborted) this.#refused(error);
    }
  }

  /** @param {import("./estimate_words.js").Estimate} estimate */
  #show(estimate) {
    const known = this.datasets.find(({ id }) => id === this.dataset.value);
    const facts = { needsExpected: this.checks.checks.some(needsExpected), hasExpected: known?.has_expected ?? true };
    one("[data-estimate-product]", this.form).textContent = productWords(estimate, this.versions.chosen.length);
    one("[data-estimate-facts]", this.form).replaceChildren(...estimateFacts(estimate).flatMap(([name, words]) => [el("dt", {}, name), el("dd", {}, words)]));
    const warnings = estimateWarnings(estimate, facts);
    one("[data-estimate-warnings]", this.form).replaceChildren(...warnings.map((text) => el("li", { class: "note is-warn" }, icon("triangle-alert"), el("span", {}, text))));
  }

  /** @param {unknown} error */
  #refused(error) {
    if (!(error instanceof ApiError)) {
      toastError(error);
      return;
    }
    const check = /^checks\.(\d+)/.exec(error.field);
    if (check) this.checks.showProblem(Number(check[1]), error.message);
    this.#fail(check ? `Check ${Number(check[1]) + 1}: ${error.sentence}` : error.sentence);
  }

  /** @param {string} text */
  #fail(text) {
    this.error.textContent = text;
    this.error.hidden = text === "";
  }

  async send() {
    if (this.busy) return;
    if (!this.dataset.value) {
      this.#fail("Choose test cases first.");
      this.dataset.focus();
      return;
    }
    if (!this.checks.review()) {
      this.#fail("A check is not complete yet.");
      return;
    }
    this.#wait(true);
    try {
      const { id } = await create(`prompts/${this.promptId}/batches`, this.body(), this.key);
      location.assign(`/prompts/${this.promptId}/batches/${id}/`);
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      this.#refused(error);
      this.#wait(false);
    }
  }

  /** @param {boolean} isBusy */
  #wait(isBusy) {
    this.busy = isBusy;
    this.start.setAttribute("aria-disabled", String(isBusy));
  }
}
