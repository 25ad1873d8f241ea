/* One message (or the system text): role in the gutter, its text in an editor. */
import { fromTemplate, one } from "./dom.js";
import { TextSlot } from "./large/text_slot.js";
import { markUnset, variablePills } from "./variable_pills.js";

/** @typedef {"system" | "user" | "assistant"} Role */

const NAMES = { system: "System", user: "User", assistant: "Assistant" };
const HINTS = {
  system: "Who the model is and how it answers. Left empty, none is sent.",
  user: "What you say. {{name}} is a variable.",
  assistant: "What the model said, or how its answer must begin.",
};

export class Block {
  /**
   * @param {Role} role
   * @param {any} content a text or what names one; a list of content blocks is edited as the JSON it is
   * @param {{onChange: () => void, onMove: (block: Block, step: number) => void, onRemove: (block: Block) => void}} parent
   */
  constructor(role, content, parent) {
    this.element = fromTemplate("block");
    this.role = role;
    this.parent = parent;
    this.saved = content;
    this.isJson = Array.isArray(content);
    this.editor = new TextSlot(one("[data-block-text]", this.element), {
      label: `${NAMES[role]} text`,
      placeholder: HINTS[role],
      onChange: () => this.#changed(),
      extensions: this.isJson ? [] : [variablePills],
    });
    this.editor.load(this.isJson ? JSON.stringify(content, null, 2) : (content ?? ""));
    this.#bind();
    this.#paint();
  }

  #bind() {
    const on = (/** @type {string} */ selector, /** @type {() => void} */ action) => one(selector, this.element).addEventListener("click", action);
    on("[data-block-role]", () => this.#switchRole());
    on("[data-block-up]", () => this.parent.onMove(this, -1));
    on("[data-block-down]", () => this.parent.onMove(this, 1));
    on("[data-block-attach]", () => this.editor.pick());
    on("[data-block-remove]", () => this.parent.onRemove(this));
  }

  #switchRole() {
    this.role = this.role === "user" ? "assistant" : "user";
    this.#paint();
    this.parent.onChange();
  }

  #changed() {
    this.showError("");
    this.#paintNote();
    this.parent.onChange();
  }

  #paint() {
    const button = one("[data-block-role]", this.element, HTMLButtonElement);
    const other = this.role === "user" ? NAMES.assistant : NAMES.user;
    this.element.dataset.role = this.role;
    this.element.setAttribute("aria-label", NAMES[this.role]);
    button.textContent = NAMES[this.role];
    button.disabled = this.role === "system";
    if (this.role !== "system") button.title = `Switch to ${other.toLowerCase()}`;
    this.#paintNote();
  }

  #paintNote() {
    const note = one("[data-block-note]", this.element, HTMLElement);
    const kind = this.isJson ? "Content blocks, as JSON. " : "";
    note.textContent = kind + this.editor.note;
    note.hidden = note.textContent === "";
    note.classList.toggle("is-warn", this.editor.lines.mixed);
  }

  /** The content as the API takes it; undefined when there is none (an empty system text). */
  read() {
    const text = this.editor.read();
    if (this.isJson) return this.editor.edited ? this.#parsed(text) : this.saved;
    return this.role === "system" && text === "" && this.saved !== "" ? undefined : text;
  }

  /** @param {any} text */
  #parsed(text) {
    try {
      if (typeof text !== "string") return text;
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  /** @param {Set<string>} unset */
  markUnset(unset) {
    if (!this.isJson) markUnset(this.editor.view, unset);
  }

  /** @param {string} message "" clears it */
  showError(message) {
    const problem = one("[data-block-error]", this.element, HTMLElement);
    problem.textContent = message;
    problem.hidden = !message;
  }

  focus() {
    this.editor.focus();
  }

  remove() {
    this.editor.destroy();
    this.element.remove();
  }
}
