/* The parameters of a column: an empty field is as saved, another value replaces, "Leave out" sends none. */
import { el, fromTemplate, one } from "../dom.js";
import { readNumber } from "../spec.js";
import { Stops } from "../stops.js";
import { fieldName } from "../diff_words.js";

/** @typedef {import("../spec.js").Spec} Spec */
/** @typedef {import("./overrides.js").Overrides} Overrides */

const NUMBERS = /** @type {const} */ (["max_tokens", "temperature", "top_p", "top_k"]);
const API_VERSIONS = ["2023-06-01", "2026-10-21"];

/** @param {unknown} value of the version */
function savedWords(value) {
  if (value === undefined || value === null) return "not sent";
  if (typeof value === "object") return `saved: ${JSON.stringify(value)}`;
  return `saved: ${value}`;
}

/* One value typed by hand. */
class TypedField {
  /**
   * @param {string} name
   * @param {() => void} onChange
   * @param {{mode: string, read: (text: string) => unknown, write: (value: any) => string, mayLeave?: boolean, list?: string, label?: string}} kind
   */
  constructor(name, onChange, kind) {
    this.name = name;
    this.kind = kind;
    this.element = fromTemplate("column-field");
    this.input = one("[data-field-input]", this.element, HTMLInputElement);
    this.leave = one("[data-field-leave]", this.element, HTMLButtonElement);
    this.problem = one("[data-field-error]", this.element, HTMLElement);
    this.isLeft = false;
    one("[data-field-name]", this.element).textContent = kind.label ?? fieldName(name);
    this.input.inputMode = kind.mode;
    this.input.setAttribute("aria-label", kind.label ?? fieldName(name));
    if (kind.list) this.input.setAttribute("list", kind.list);
    this.input.addEventListener("input", () => {
      this.say("");
      onChange();
    });
    this.leave.addEventListener("click", () => {
      this.isLeft = !this.isLeft;
      this.say("");
      this.#paint();
      onChange();
      if (!this.isLeft) this.input.focus();
    });
  }

  /** @param {unknown} saved what the version has @param {Overrides} given */
  load(saved, given) {
    this.saved = saved;
    this.isLeft = given[this.name] === null;
    const value = given[this.name];
    this.input.value = value === undefined || value === null ? "" : this.kind.write(value);
    this.#paint();
  }

  #paint() {
    this.leave.hidden = (this.saved === undefined || this.saved === null || this.kind.mayLeave === false) && !this.isLeft;
    this.leave.textContent = this.isLeft ? "Send it" : "Leave out";
    this.leave.setAttribute("aria-pressed", String(this.isLeft));
    this.input.disabled = this.isLeft;
    this.input.placeholder = this.isLeft ? "left out" : savedWords(this.saved);
  }

  /** @returns {Overrides} */
  read() {
    if (this.isLeft) return { [this.name]: null };
    const text = this.input.value.trim();
    return text === "" ? {} : { [this.name]: this.kind.read(text) };
  }

  /** @param {string} message */
  say(message) {
    this.problem.textContent = message;
    this.problem.hidden = !message;
    this.input.setAttribute("aria-invalid", String(!!message));
  }

  focus() {
    this.input.focus();
  }
}

/* Stop sequences: as saved until they are touched. */
class StopsField {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.name = "stop_sequences";
    const input = el("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "Add", "aria-label": "Stop sequences: add", "data-stop-input": true });
    this.problem = el("p", { class: "field-error", hidden: true });
    const about = el("span", { class: "field-optional" }, "Enter adds one; \\n is a line break");
    this.element = el("div", { class: "field is-wide" }, el("span", { class: "field-label" }, "Stop sequences", about), el("div", { class: "stops" }, el("ul", { class: "stops-list", "data-stop-list": true }), input), this.problem);
    this.stops = new Stops(this.element, () => {
      this.say("");
      onChange();
    });
    /** @type {string[]} */
    this.saved = [];
  }

  /** @param {unknown} saved @param {Overrides} given */
  load(saved, given) {
    this.saved = Array.isArray(saved) ? saved : [];
    const now = given.stop_sequences;
    this.stops.load(now === undefined ? this.saved : (now ?? []));
  }

  /** @returns {Overrides} */
  read() {
    const now = this.stops.read() ?? [];
    if (JSON.stringify(now) === JSON.stringify(this.saved)) return {};
    return { stop_sequences: now.length > 0 ? now : null };
  }

  /** @param {string} message */
  say(message) {
    this.problem.textContent = message;
    this.problem.hidden = !message;
  }

  focus() {
    this.stops.input.focus();
  }
}

export class ColumnFields {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    const number = { mode: "decimal", read: readNumber, write: String };
    const same = (/** @type {string} */ text) => text;
    const budget = {
      mode: "numeric",
      label: "Thinking budget, tokens",
      read: (/** @type {string} */ text) => ({ type: "enabled", budget_tokens: readNumber(text) }),
      write: (/** @type {any} */ value) => String(value?.budget_tokens ?? ""),
    };
    this.fields = [
      new TypedField("model", onChange, { mode: "text", read: same, write: String, mayLeave: false, list: "offered-models" }),
      ...NUMBERS.map((name) => new TypedField(name, onChange, { ...number, mayLeave: name !== "max_tokens" })),
      new TypedField("thinking", onChange, budget),
      new TypedField("api_version", onChange, { mode: "text", read: same, write: String, list: "offered-api-versions" }),
      new StopsField(onChange),
    ];
    root.replaceChildren(...this.fields.map((field) => field.element));
  }

  /**
   * @param {Spec} spec of the version
   * @param {string | null} model
   * @param {Overrides} parameters
   */
  load(spec, model, parameters) {
    for (const field of this.fields) {
      field.say("");
      field.load(spec[field.name], { ...parameters, ...(model ? { model } : {}) });
    }
  }

  /** @returns {{model: string | null, parameters: Overrides}} */
  read() {
    const { model = null, ...parameters } = Object.assign({}, ...this.fields.map((field) => field.read()));
    return { model, parameters };
  }

  /**
   * @param {string} name of the field
   * @param {string} message
   * @returns {boolean} whether there is such a field
   */
  showError(name, message) {
    const field = this.fields.find((each) => each.name === name);
    field?.say(message);
    field?.focus();
    return field !== undefined;
  }
}

/** The versions of the Messages API, for the field that names one. */
export function apiVersionList() {
  return el("datalist", { id: "offered-api-versions" }, ...API_VERSIONS.map((value) => el("option", { value })));
}

