/* The editor pane as one thing: parameters, texts and variables, read and written as a spec. */
import { Blocks } from "./blocks.js";
import { one } from "./dom.js";
import { Estimate } from "./editor/estimate.js";
import { Parameters } from "./parameters.js";
import { isReference, isUnsent, textsOf } from "./large/references.js";
import { sizeWords } from "./large/sizes.js";
import { home } from "./large/text_home.js";
import { may } from "./sharing/permissions.js";
import { promptTexts } from "./spec.js";
import { VariableDesk } from "./variable_desk.js";

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
    this.variables = new VariableDesk(one("[data-variables]", root, HTMLElement), this.blocks, onChange);
    this.estimate = new Estimate(one("[data-estimate]", root, HTMLElement), (size) => this.#tell(size?.problems ?? []));
    one("[data-add-message]", root).addEventListener("click", () => this.blocks.add());
  }

  /**
   * @param {Spec} spec
   * @param {Record<string, string>} values
   */
  load(spec, values) {
    this.variables.load(values, spec.variables);
    this.parameters.load(spec);
    this.blocks.load(spec);
    this.#lock();
  }

  /* Who may only read finds everything, and nothing to press that would be refused. */
  #lock() {
    if (may("change")) return;
    one("[data-add-message]", this.root, HTMLButtonElement).hidden = true;
    for (const control of this.root.querySelectorAll("[data-parameters] :is(input, select, button:not(.tool-row))")) {
      /** @type {HTMLInputElement} */ (control).disabled = true;
    }
  }

  /** @returns {Spec} */
  read() {
    const { cards } = this.variables;
    return { ...this.parameters.read(), ...this.blocks.read(), ...(cards && { variables: cards }) };
  }

  /** Brings everything that is derived from the text up to date. @returns {Spec} */
  refresh() {
    const spec = this.read();
    const texts = promptTexts(spec);
    const elsewhere = textsOf(spec).filter((text) => isReference(text) || isUnsent(text));
    this.variables.refresh();
    this.parameters.paint(spec);
    this.#paintSize(texts, elsewhere);
    this.estimate.note(spec, this.values, this.parameters.model.provider);
    return spec;
  }

  /* What a run would be refused for, each at its place. @param {import("./editor/estimate_words.js").Size["problems"]} problems */
  #tell(/** @type {import("./editor/estimate_words.js").Size["problems"]} */ problems) {
    const others = this.parameters.tell(problems, this.read());
    this.blocks.tell(others.filter(({ level }) => level === "error"));
  }

  /** @param {string[]} texts @param {unknown[]} elsewhere */
  #paintSize(texts, elsewhere) {
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    const bytes = elsewhere.reduce((/** @type {number} */ sum, text) => sum + home.bytesOf(text), 0);
    const words = `${total.toLocaleString()} characters`;
    one("[data-text-size]", this.root).textContent = bytes > 0 ? `${words}, and ${sizeWords(bytes)} in large texts` : words;
  }

  /**
   * Sends large texts that were edited, with their progress shown in their place. Rejects if one cannot be sent.
   * @param {import("./large/text_slot.js").Watch} [watch]
   */
  async send(watch) {
    await this.blocks.send(watch);
    await this.parameters.send(watch);
  }

  /** Whether a large text was edited and not sent since. */
  get isUnsent() {
    return textsOf(this.read()).some(isUnsent);
  }

  /** The version was saved: what was sent is part of it. */
  settle() {
    this.blocks.settle();
    this.parameters.settle();
  }

  /** Asks which models there are; a prompt without one gets the first. */
  async fetchModels() {
    const models = await this.parameters.model.fetchModels();
    if (!this.parameters.model.value && models.length > 0) this.parameters.model.load(models[0].id);
    this.onChange();
  }

  /** Whether nothing was written yet: the defaults of a new prompt are no unsaved work. */
  get isUntouched() {
    return this.blocks.all.every((block) => block.isEmpty) && this.blocks.messages.length === 1;
  }

  /** What the open prompt declares of its variables, as a version has it; undefined for nothing. */
  get cards() {
    return this.variables.cards;
  }

  /** The values that are given, of the variables in use. @returns {Record<string, string>} */
  get values() {
    return this.variables.panel.read();
  }

  /** The variables in use, in order of appearance. */
  get variableNames() {
    return this.variables.panel.names;
  }

  /** Variables in use that have neither a value nor a default. */
  get unset() {
    return this.variables.panel.unset;
  }

  /** Values that cannot be sent, with the reason. */
  get variableProblems() {
    return this.variables.panel.problems;
  }

  focusUnset() {
    this.variables.panel.focusUnset();
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
