/* Stop sequences: chips, and an input in which \n, \t and \\ are escapes, because a sequence is often a line break. */
import { el, icon, one } from "./dom.js";

/**
 * @param {string} sequence
 * @returns {string} as shown: control characters escaped
 */
export function shown(sequence) {
  return sequence.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
}

/**
 * @param {string} text as typed
 * @returns {string}
 */
export function meant(text) {
  const escapes = /** @type {Record<string, string>} */ ({ n: "\n", r: "\r", t: "\t", "\\": "\\" });
  return text.replace(/\\([nrt\\])/g, (_whole, letter) => escapes[letter]);
}

export class Stops {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.list = one("[data-stop-list]", root);
    this.input = one("[data-stop-input]", root, HTMLInputElement);
    this.onChange = onChange;
    /** @type {string[]} */
    this.sequences = [];
    this.input.addEventListener("keydown", (event) => this.#onKey(event));
    this.input.addEventListener("blur", () => this.#add());
  }

  /** @param {string[]} sequences */
  load(sequences) {
    this.sequences = [...sequences];
    this.#paint();
  }

  /** @returns {string[] | undefined} undefined when there is none, so that none is sent */
  read() {
    return this.sequences.length > 0 ? [...this.sequences] : undefined;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#add();
    } else if (event.key === "Backspace" && this.input.value === "" && this.sequences.length > 0) {
      this.sequences.pop();
      this.#paint();
      this.onChange();
    }
  }

  #add() {
    if (this.input.value === "") return;
    this.sequences.push(meant(this.input.value));
    this.input.value = "";
    this.#paint();
    this.onChange();
  }

  #paint() {
    this.list.replaceChildren(...this.sequences.map((sequence, index) => this.#chip(sequence, index)));
  }

  /**
   * @param {string} sequence
   * @param {number} index
   */
  #chip(sequence, index) {
    const label = shown(sequence);
    const attributes = { class: "button button-quiet button-icon button-small", type: "button", "aria-label": `Remove ${label}` };
    const remove = el("button", attributes, icon("x"));
    remove.addEventListener("click", () => {
      this.sequences.splice(index, 1);
      this.#paint();
      this.onChange();
      this.input.focus();
    });
    return el("li", { class: "stop" }, el("code", {}, label), remove);
  }
}
