/* The system text and the messages, in order: add, remove, move. */
import { one } from "./dom.js";
import { Block } from "./block.js";

export class Blocks {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.root = root;
    this.parent = {
      onChange,
      onMove: (/** @type {Block} */ block, /** @type {number} */ step) => this.#move(block, step),
      onRemove: (/** @type {Block} */ block) => this.#remove(block),
    };
    /** @type {Block[]} */
    this.messages = [];
    this.system = new Block("system", undefined, this.parent);
  }

  /** @param {import("./spec.js").Spec} spec */
  load(spec) {
    for (const block of [this.system, ...this.messages]) block.remove();
    this.system = new Block("system", spec.system, this.parent);
    this.messages = spec.messages.map((message) => new Block(message.role, message.content, this.parent));
    this.root.replaceChildren(...this.all.map((block) => block.element));
    this.#paintEnds();
  }

  get all() {
    return [this.system, ...this.messages];
  }

  /** @returns {{system?: any, messages: any[]}} */
  read() {
    const system = this.system.read();
    const messages = this.messages.map((block) => ({ role: block.role, content: block.read() }));
    return system === undefined ? { messages } : { system, messages };
  }

  /** A message that continues the conversation: the other side speaks next. */
  add() {
    const role = this.messages.at(-1)?.role === "user" ? "assistant" : "user";
    const block = new Block(role, "", this.parent);
    this.messages.push(block);
    this.root.append(block.element);
    this.#paintEnds();
    this.parent.onChange();
    block.focus();
  }

  /**
   * @param {Block} block
   * @param {number} step
   */
  #move(block, step) {
    const from = this.messages.indexOf(block);
    const to = from + step;
    if (to < 0 || to >= this.messages.length) return;
    this.messages.splice(from, 1);
    this.messages.splice(to, 0, block);
    const neighbour = this.messages[to + 1]?.element ?? null;
    this.root.insertBefore(block.element, neighbour);
    this.#paintEnds();
    this.parent.onChange();
    one(step < 0 ? "[data-block-up]" : "[data-block-down]", block.element, HTMLElement).focus();
  }

  /** @param {Block} block */
  #remove(block) {
    const index = this.messages.indexOf(block);
    this.messages.splice(index, 1);
    block.remove();
    this.#paintEnds();
    this.parent.onChange();
    (this.messages[Math.max(0, index - 1)] ?? this.system).focus();
  }

  /* The first cannot go up, the last not down, and one message must stay. */
  #paintEnds() {
    this.messages.forEach((block, index) => {
      one("[data-block-up]", block.element, HTMLButtonElement).disabled = index === 0;
      one("[data-block-down]", block.element, HTMLButtonElement).disabled = index === this.messages.length - 1;
      one("[data-block-remove]", block.element, HTMLButtonElement).disabled = this.messages.length === 1;
    });
  }

  /** @param {Set<string>} unset */
  markUnset(unset) {
    for (const block of this.all) block.markUnset(unset);
  }

  /**
   * Shows an error of the server at the block it is about.
   * @param {string} field such as "messages.1.content"
   * @param {string} message
   * @returns {boolean} whether it is about a block
   */
  showError(field, message) {
    const index = /^messages\.(\d+)/.exec(field)?.[1];
    const block = field.startsWith("system") ? this.system : index === undefined ? undefined : this.messages[Number(index)];
    block?.showError(message);
    block?.focus();
    return block !== undefined;
  }

  /**
   * Sends large texts that were edited; then none is left unsent.
   * @param {import("./large/text_slot.js").Watch} [watch]
   */
  async send(watch) {
    for (const block of this.all) await block.editor.send(watch);
  }

  settle() {
    for (const block of this.all) block.editor.settle();
  }

  clearErrors() {
    for (const block of this.all) block.showError("");
  }
}
