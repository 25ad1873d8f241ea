/* One row for each variable that the texts name, with its value. Derived from the text every time. */
import { fromTemplate, one } from "./dom.js";
import { bindDropping, pickFile } from "./large/dropping.js";
import { readShort } from "./large/short_file.js";
import { TextEditor } from "./text_editor.js";
import { toast } from "./toast.js";

/** @typedef {import("./spec.js").VariableCard} VariableCard */

/* A value: not given, given as the empty text on purpose, or a text. */
class Row {
  /**
   * @param {string} name
   * @param {VariableCard | undefined} card
   * @param {() => void} onChange
   */
  constructor(name, card, onChange) {
    this.name = name;
    this.card = card;
    this.meantEmpty = false;
    this.element = fromTemplate("variable");
    const title = one(".variable-name", this.element);
    title.textContent = name;
    title.setAttribute("title", name);
    this.editor = new TextEditor(one("[data-variable-text]", this.element), {
      label: `Value of ${name}`,
      placeholder: card?.default ?? "",
      onChange: () => {
        this.meantEmpty = false;
        onChange();
      },
    });
    this.#bind(onChange);
    this.#about();
  }

  /** A file becomes the value; a run carries its values itself, so they have a limit. @param {File} file */
  async #take(file) {
    try {
      this.editor.replace(await readShort(file, "A value"));
    } catch (error) {
      toast(/** @type {Error} */ (error).message, { tone: "bad" });
    }
  }

  /** @param {() => void} onChange */
  #bind(onChange) {
    bindDropping(this.element, { onFile: (file) => void this.#take(file), onText: () => false });
    one("[data-variable-attach]", this.element).addEventListener("click", () => pickFile((file) => void this.#take(file)));
    one("[data-variable-empty]", this.element).addEventListener("click", () => {
      this.meantEmpty = true;
      onChange();
    });
    one("[data-variable-unset]", this.element).addEventListener("click", () => {
      this.meantEmpty = false;
      onChange();
      this.editor.focus();
    });
  }

  #about() {
    const about = one("[data-variable-about]", this.element, HTMLElement);
    about.textContent = this.card?.description ?? "";
    about.hidden = about.textContent === "";
  }

  /** @param {string} value */
  load(value) {
    this.editor.load(value);
    this.meantEmpty = value === "";
  }

  /** @returns {string | undefined} undefined when no value is given here */
  read() {
    if (this.editor.isEmpty && !this.meantEmpty) return undefined;
    return this.editor.read();
  }

  /** @returns {"set" | "empty" | "default" | "unset"} */
  get state() {
    const value = this.read();
    if (value !== undefined) return value === "" ? "empty" : "set";
    return this.card?.default === undefined || this.card.default === null ? "unset" : "default";
  }

  paint() {
    const { state } = this;
    const words = { set: "", empty: "empty text", default: "default", unset: "unset" };
    const chip = one("[data-variable-state]", this.element, HTMLElement);
    this.element.dataset.state = state;
    chip.textContent = words[state];
    chip.hidden = state === "set";
    chip.classList.toggle("is-warn", state === "unset");
    one("[data-variable-empty]", this.element, HTMLElement).hidden = state === "set" || state === "empty";
    one("[data-variable-unset]", this.element, HTMLElement).hidden = state !== "empty";
  }
}

export class VariablesPanel {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.root = root;
    this.rows = one("[data-variables-rows]", root);
    this.onChange = onChange;
    /** Every variable seen since the page opened: a name that comes back finds its value. @type {Map<string, Row>} */
    this.known = new Map();
    /** @type {string[]} */
    this.names = [];
    /** @type {VariableCard[]} */
    this.cards = [];
  }

  /** @param {string} name */
  #row(name) {
    let row = this.known.get(name);
    if (!row) {
      row = new Row(name, this.cards.find((card) => card.name === name), this.onChange);
      this.known.set(name, row);
    }
    return row;
  }

  /**
   * @param {Record<string, string>} values
   * @param {VariableCard[]} cards
   */
  load(values, cards) {
    this.cards = cards;
    for (const [name, value] of Object.entries(values)) this.#row(name).load(value);
  }

  /** @param {string[]} names in order of appearance */
  show(names) {
    if (names.join("\0") !== this.names.join("\0")) {
      this.names = names;
      this.rows.replaceChildren(...names.map((name) => this.#row(name).element));
    }
    for (const name of names) this.#row(name).paint();
    this.root.hidden = names.length === 0;
    const { size } = this.unset;
    one("[data-variables-note]", this.root).textContent = size > 0 ? `${size} of ${names.length} without a value` : String(names.length);
  }

  /** @returns {Record<string, string>} the values that are given, of the variables in use */
  read() {
    const given = this.names.flatMap((name) => {
      const value = this.#row(name).read();
      return value === undefined ? [] : [[name, value]];
    });
    return Object.fromEntries(given);
  }

  /** @returns {Set<string>} */
  get unset() {
    return new Set(this.names.filter((name) => this.#row(name).state === "unset"));
  }

  focusUnset() {
    const [first] = this.unset;
    if (first !== undefined) this.#row(first).editor.focus();
  }
}
