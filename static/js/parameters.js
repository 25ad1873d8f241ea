/* The inspector: everything of a spec that is not a message. Empty fields are left out; 0 is sent as 0. */
import { one } from "./dom.js";
import { ModelField } from "./model_field.js";
import { keptFields, NUMBERS, readNumber, sentence } from "./spec.js";
import { Stops } from "./stops.js";
import { isReference } from "./large/references.js";
import { TextSlot } from "./large/text_slot.js";

/** @typedef {import("./spec.js").Spec} Spec */

/**
 * Tools and schema are kept as written; from the API they may also come as values.
 * @param {unknown} value
 */
function asText(value) {
  if (value === undefined || value === null) return "";
  if (isReference(value)) return value;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** @param {unknown} text */
function jsonProblem(text) {
  try {
    if (typeof text === "string" && text.trim()) JSON.parse(text);
    return "";
  } catch (error) {
    return `Not JSON yet: ${/** @type {Error} */ (error).message}`;
  }
}

export class Parameters {
  /**
   * @param {HTMLDetailsElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.root = root;
    /** @type {Record<string, any>} */
    this.kept = {};
    const changed = () => {
      this.clearErrors();
      onChange();
    };
    this.model = new ModelField(root, changed);
    this.stops = new Stops(root, changed);
    this.json = {
      tools: new TextSlot(one("[data-tools]", root), { label: "Tools, JSON", placeholder: "[]", onChange: changed }),
      output_schema: new TextSlot(one("[data-schema]", root), { label: "Output schema, JSON", placeholder: "{}", onChange: changed }),
    };
    for (const name of NUMBERS) this.#input(name).addEventListener("input", changed);
  }

  /** @param {string} name */
  #input(name) {
    return one(`[data-param="${name}"]`, this.root, HTMLInputElement);
  }

  /** @param {Spec} spec */
  load(spec) {
    this.saved = spec;
    this.kept = keptFields(spec);
    this.model.load(spec.model ?? "");
    this.stops.load(spec.stop_sequences ?? []);
    this.json.tools.load(asText(spec.tools));
    this.json.output_schema.load(asText(spec.output_schema));
    for (const name of NUMBERS) this.#input(name).value = spec[name] === undefined ? "" : String(spec[name]);
    one("[data-advanced]", this.root, HTMLDetailsElement).open = spec.tools !== undefined || spec.output_schema !== undefined;
    this.#paintKept();
  }

  #paintKept() {
    const names = Object.keys(this.kept).filter((name) => name !== "variables");
    const note = one("[data-kept-fields]", this.root, HTMLElement);
    note.hidden = names.length === 0;
    note.textContent = `Kept as saved: ${names.join(", ")}. The API changes them.`;
  }

  /** @returns {Record<string, any>} */
  read() {
    /** @type {Record<string, any>} */
    const spec = { model: this.model.value, ...this.kept };
    for (const name of NUMBERS) spec[name] = readNumber(this.#input(name).value);
    spec.stop_sequences = this.stops.read();
    for (const name of /** @type {const} */ (["tools", "output_schema"])) {
      const editor = this.json[name];
      spec[name] = editor.edited ? editor.read() || undefined : (this.saved?.[name] ?? undefined);
    }
    return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
  }

  /** @param {Spec} spec */
  paint(spec) {
    one("[data-parameters-sentence]", this.root).textContent = sentence(spec);
    for (const name of NUMBERS) {
      const wrong = typeof spec[name] === "string";
      this.#input(name).setAttribute("aria-invalid", String(wrong));
      if (wrong) this.#say(name, "Not a number.");
    }
    for (const name of /** @type {const} */ (["tools", "output_schema"])) {
      const problem = this.json[name].edited ? jsonProblem(this.json[name].read()) : "";
      if (problem) this.#say(name, problem);
    }
  }

  /**
   * @param {string} name
   * @param {string} message
   */
  #say(name, message) {
    const field = this.root.querySelector(`[data-field="${name}"]`);
    const problem = field?.querySelector("[data-field-error]");
    if (!(problem instanceof HTMLElement)) return false;
    problem.textContent = message;
    problem.hidden = !message;
    return true;
  }

  /**
   * Shows an error of the server at the field it is about.
   * @param {string} field such as "max_tokens" or "stop_sequences.0"
   * @param {string} message
   * @returns {boolean} whether it is about a field here
   */
  showError(field, message) {
    const name = field.split(".")[0];
    if (!this.#say(name, message)) return false;
    this.root.open = true;
    if (name === "tools" || name === "output_schema") one("[data-advanced]", this.root, HTMLDetailsElement).open = true;
    const control = this.root.querySelector(`[data-field="${name}"] :is(input:not([hidden]), select:not([hidden]), .cm-content)`);
    if (control instanceof HTMLElement) control.focus();
    return true;
  }

  /** @param {import("./large/text_slot.js").Watch} [watch] */
  async send(watch) {
    for (const editor of Object.values(this.json)) await editor.send(watch);
  }

  settle() {
    for (const editor of Object.values(this.json)) editor.settle();
  }

  clearErrors() {
    for (const problem of this.root.querySelectorAll("[data-field-error]")) /** @type {HTMLElement} */ (problem).hidden = true;
  }
}
