/* The inspector: everything of a spec that is not a message. Empty fields are left out; 0 is sent as 0. */
import { one } from "./dom.js";
import { parameterProblems } from "./editor/parameter_problems.js";
import { Thinking } from "./editor/thinking.js";
import { ToolChoice } from "./editor/tool_choice.js";
import { ToolsList } from "./editor/tools_list.js";
import { ModelField } from "./model_field.js";
import { keptFields, NUMBERS, readNumber, sentence } from "./spec.js";
import { Stops } from "./stops.js";
import { isReference } from "./large/references.js";
import { TextSlot } from "./large/text_slot.js";

/** @typedef {import("./spec.js").Spec} Spec */
/** @typedef {{field: string, message: string, level: "error" | "note"}} Problem */

const JSON_FIELDS = /** @type {const} */ (["tools", "output_schema"]);
const ADVANCED = ["tools", "tool_choice", "output_schema"];
const SHOWN_PROBLEMS = 3;

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

/**
 * Sentences of problems, each with the place inside its field.
 * @param {Problem[]} problems
 * @param {string} field
 */
function sentences(problems, field) {
  const shown = problems.slice(0, SHOWN_PROBLEMS).map(({ field: place, message }) => {
    const within = place.slice(field.length + 1);
    return within ? `${within}: ${message}` : message;
  });
  const more = problems.length - shown.length;
  return [...shown, ...(more > 0 ? [`And ${more} more.`] : [])].join("\n");
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
    /** What the server said to a save, until something here changes. @type {Record<string, string>} */
    this.refused = {};
    /** What a run would be refused for, as the server knows it. @type {Problem[]} */
    this.told = [];
    const changed = () => {
      this.clearErrors();
      onChange();
    };
    this.model = new ModelField(root, changed);
    this.stops = new Stops(root, changed);
    this.thinking = new Thinking(root, changed);
    this.choice = new ToolChoice(root, changed);
    this.version = one("[data-api-version]", root, HTMLSelectElement);
    this.version.addEventListener("change", changed);
    this.json = {
      tools: new TextSlot(one("[data-tools]", root), { label: "Tools, JSON", placeholder: "[]", onChange: changed }),
      output_schema: new TextSlot(one("[data-schema]", root), { label: "Output schema, JSON", placeholder: "{}", onChange: changed }),
    };
    this.tools = new ToolsList(one("[data-tools-field]", root, HTMLElement), this.json.tools);
    for (const name of NUMBERS) this.#input(name).addEventListener("input", changed);
  }

  /** @param {string} name */
  #input(name) {
    return one(`[data-param="${name}"]`, this.root, HTMLInputElement);
  }

  /** @param {Spec} spec */
  load(spec) {
    this.saved = spec;
    this.told = [];
    this.kept = keptFields(spec);
    this.model.load(spec.model ?? "");
    this.stops.load(spec.stop_sequences ?? []);
    this.thinking.load(spec.thinking);
    this.choice.load(spec.tool_choice);
    this.version.value = spec.api_version ?? "";
    for (const name of JSON_FIELDS) this.json[name].load(asText(spec[name]));
    for (const name of NUMBERS) this.#input(name).value = spec[name] === undefined ? "" : String(spec[name]);
    one("[data-advanced]", this.root, HTMLDetailsElement).open = ADVANCED.some((name) => spec[name] !== undefined);
    this.#paintKept();
  }

  #paintKept() {
    const names = Object.keys(this.kept);
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
    spec.thinking = this.thinking.read();
    spec.tool_choice = this.choice.read();
    spec.api_version = this.version.value || undefined;
    for (const name of JSON_FIELDS) {
      const editor = this.json[name];
      spec[name] = editor.edited ? editor.read() || undefined : (this.saved?.[name] ?? undefined);
    }
    return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
  }

  /** @param {Spec} spec */
  paint(spec) {
    one("[data-parameters-sentence]", this.root).textContent = sentence(spec);
    this.tools.paint(asText(spec.tools));
    this.choice.offer(this.tools.names);
    this.choice.paint();
    this.#paintProblems(spec);
  }

  /* What the server refused comes first, then what can be seen here, then what it knows of a run. */
  #paintProblems(/** @type {Spec} */ spec) {
    const here = parameterProblems(spec, this.tools.names);
    for (const field of /** @type {NodeListOf<HTMLElement>} */ (this.root.querySelectorAll("[data-field]"))) {
      const name = field.dataset.field ?? "";
      const written = name === "tools" || name === "output_schema" ? this.json[name] : null;
      const broken = written?.edited ? jsonProblem(written.read()) : "";
      const told = this.told.filter(({ field: place }) => place === name || place.startsWith(`${name}.`));
      const words = this.refused[name] || broken || here[name] || sentences(told.filter(({ level }) => level === "error"), name);
      this.#say(name, words);
      this.#note(field, sentences(told.filter(({ level }) => level === "note"), name));
    }
  }

  /** @param {HTMLElement} field @param {string} words */
  #note(field, words) {
    const note = field.querySelector("[data-field-note]");
    if (!(note instanceof HTMLElement) || note.textContent === words) return;
    note.textContent = words;
    note.hidden = !words;
  }

  /**
   * @param {string} name
   * @param {string} message
   */
  #say(name, message) {
    const field = this.root.querySelector(`[data-field="${CSS.escape(name)}"]`);
    const problem = field?.querySelector("[data-field-error]");
    if (!field || !(problem instanceof HTMLElement)) return false;
    if (problem.textContent !== message) problem.textContent = message;
    problem.hidden = !message;
    for (const control of /** @type {NodeListOf<HTMLElement>} */ (field.querySelectorAll("input:not([type=checkbox]), select"))) {
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
    return true;
  }

  /**
   * Shows what a run would be refused for, each at its field.
   * @param {Problem[]} problems
   * @param {Spec} spec
   * @returns {Problem[]} those that are about no field here
   */
  tell(problems, spec) {
    const isHere = ({ field = "" }) => this.root.querySelector(`[data-field="${CSS.escape(field.split(".")[0])}"]`) !== null;
    this.told = problems.filter(isHere);
    this.#paintProblems(spec);
    return problems.filter((problem) => !isHere(problem));
  }

  /**
   * Shows an error of the server at the field it is about.
   * @param {string} field such as "max_tokens" or "tools.0.input_schema.type"
   * @param {string} message
   * @returns {boolean} whether it is about a field here
   */
  showError(field, message) {
    const [name, ...within] = field.split(".");
    const words = within.length > 0 ? `${within.join(".")}: ${message}` : message;
    if (!this.#say(name, words)) return false;
    this.refused[name] = words;
    this.root.open = true;
    if (ADVANCED.includes(name)) one("[data-advanced]", this.root, HTMLDetailsElement).open = true;
    this.#focus(name);
    return true;
  }

  /** @param {string} name */
  #focus(name) {
    if (name === "tools" || name === "output_schema") this.json[name].focus();
    else {
      const input = this.root.querySelector(`[data-field="${name}"] :is(input, select)`);
      if (input instanceof HTMLElement) input.focus();
    }
  }

  /** @param {import("./large/text_slot.js").Watch} [watch] */
  async send(watch) {
    for (const name of JSON_FIELDS) await this.json[name].send(watch);
  }

  settle() {
    for (const name of JSON_FIELDS) this.json[name].settle();
  }

  clearErrors() {
    this.refused = {};
  }
}
