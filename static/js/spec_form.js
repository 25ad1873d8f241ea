/* The editor pane as one thing: parameters, texts and variables, read and written as a spec. */
import { Blocks } from "./blocks.js";
import { one } from "./dom.js";
import { Parameters } from "./parameters.js";
import { promptTexts } from "./spec.js";
import { names } from "./template.js";
import { VariablesPanel } from "./variables_panel.js";

/** @typedef {import("./spec.js").Spec} Spec */

export class SpecForm {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.root = root;
    this.onChange = onChange;
    this.parameters = new Parameters(one("[data-parameters]", root, HTMLDetailsElement), onChange);
    this.blocks = new Blocks(one("[data-blocks]", root, HTMLElement), onChange);
    this.variables = new VariablesPanel(one("[data-variables]", root, HTMLElement), onChange);
    one("[data-add-message]", root).addEventListener("click", () => this.blocks.add());
    this.marked = "";
  }

  /**
   * @param {Spec} spec
   * @param {Record<string, string>} values
   */
  load(spec, values) {
    this.marked = "";
    this.variables.load(values, spec.variables ?? []);
    this.parameters.load(spec);
    this.blocks.load(spec);
  }

  /** @returns {Spec} */
  read() {
    return { ...this.parameters.read(), ...this.blocks.read() };
  }

  /** Brings everything that is derived from the text up to date. @returns {Spec} */
  refresh() {
    const spec = this.read();
    const texts = promptTexts(spec);
    this.variables.show(names(...texts));
    this.parameters.paint(spec);
    this.#markUnset();
    this.#paintSize(texts);
    return spec;
  }

  #markUnset() {
    const unset = this.variables.unset;
    const marked = [...unset].join("\0") + this.blocks.all.length;
    if (marked !== this.marked) this.blocks.markUnset(unset);
    this.marked = marked;
  }

  /** @param {string[]} texts */
  #paintSize(texts) {
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    const largest = Math.max(...texts.map((text) => text.length));
    const words = `${total.toLocaleString()} characters`;
    one("[data-text-size]", this.root).textContent = texts.length > 1 ? `${words}, largest block ${largest.toLocaleString()}` : words;
  }

  /** Asks which models there are; a prompt without one gets the first. */
  async fetchModels() {
    const models = await this.parameters.model.fetchModels();
    if (!this.parameters.model.value && models.length > 0) this.parameters.model.load(models[0].id);
    this.onChange();
  }

  /** Whether nothing was written yet: the defaults of a new prompt are no unsaved work. */
  get isUntouched() {
    return this.blocks.all.every((block) => block.editor.isEmpty) && this.blocks.messages.length === 1;
  }

  get values() {
    return this.variables.read();
  }

  get hasValues() {
    return Object.keys(this.values).length > 0;
  }

  get unset() {
    return this.variables.unset;
  }

  focusUnset() {
    this.variables.focusUnset();
  }

  /**
   * Shows an error of the server at what it is about.
   * @param {import("./api.js").ApiError} error
   * @returns {boolean} whether there is such a place
   */
  showError(error) {
    if (!error.field.startsWith("spec.")) return false;
    const field = error.field.slice("spec.".length);
    return this.parameters.showError(field, error.message) || this.blocks.showError(field, error.message);
  }
}
