/* Which model: those that this server knows, or any id typed by hand. */
import { call } from "./api.js";
import { el, one } from "./dom.js";
import { learnNotices, showNotice } from "./model_notices.js";

const OTHER = "\0other";

export class ModelField {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.select = one("[data-param-model]", root, HTMLSelectElement);
    this.text = one("[data-param-model-text]", root, HTMLInputElement);
    this.notice = one("[data-model-notice]", root, HTMLElement);
    this.onChange = onChange;
    /** @type {{id: string, context?: number, provider?: string, notice?: string | null}[]} */
    this.models = [];
    this.value = "";
    this.select.addEventListener("change", () => this.#choose());
    this.text.addEventListener("input", () => {
      this.value = this.text.value.trim();
      showNotice(this.notice, this.value);
      onChange();
    });
  }

  /** Asks the server which models there are; without an answer the id is typed. */
  async fetchModels() {
    const { results } = await call("models").catch(() => ({ results: [] }));
    this.models = results;
    learnNotices(results);
    this.#paint();
    return this.models;
  }

  /** @param {string} model */
  load(model) {
    this.value = model;
    this.#paint();
  }

  #choose() {
    if (this.select.value === OTHER) {
      this.#showText(true);
      this.text.focus();
      return;
    }
    this.value = this.select.value;
    showNotice(this.notice, this.value);
    this.onChange();
  }

  /** @param {boolean} shown */
  #showText(shown) {
    this.text.hidden = !shown;
    this.text.value = this.value;
    this.select.hidden = this.models.length === 0;
  }

  #paint() {
    const known = this.models.some(({ id }) => id === this.value);
    const options = this.models.map(({ id, context }) => {
      const words = context ? `${id} (${context.toLocaleString()} tokens of context)` : id;
      return el("option", { value: id, selected: id === this.value }, words);
    });
    if (!known && this.value) options.unshift(el("option", { value: this.value, selected: true }, `${this.value} (not offered by this server)`));
    this.select.replaceChildren(...options, el("option", { value: OTHER }, "Another model…"));
    this.#showText(this.models.length === 0);
    showNotice(this.notice, this.value);
  }
}
