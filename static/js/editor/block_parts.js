/* The content blocks of one message, in order: add, remove, move. */
import { el } from "../dom.js";
import { BlockPart } from "./block_part.js";
import { newBlock } from "./content_blocks.js";

/** @typedef {import("../large/text_slot.js").TextSlot} TextSlot */

export class BlockParts {
  /**
   * @param {HTMLElement} root
   * @param {any[]} blocks
   * @param {() => void} onChange
   */
  constructor(root, blocks, onChange) {
    this.onChange = onChange;
    this.list = el("div", { class: "block-parts" });
    root.append(this.list);
    this.parent = {
      onChange,
      onMove: (/** @type {BlockPart} */ part, /** @type {number} */ step) => this.#move(part, step),
      onRemove: (/** @type {BlockPart} */ part) => this.#remove(part),
    };
    this.saved = blocks;
    this.parts = blocks.map((block) => new BlockPart(block, this.parent));
    this.list.append(...this.parts.map((part) => part.element));
    this.#paint();
  }

  /** @returns {any[]} the very list that came, as long as nothing of it is changed */
  read() {
    const now = this.parts.map((part) => part.read());
    const isSame = now.length === this.saved.length && now.every((block, index) => block === this.saved[index]);
    return isSame ? this.saved : now;
  }

  /**
   * @param {string} type
   * @param {string[]} openCalls
   */
  add(type, openCalls) {
    const part = new BlockPart(newBlock(type, { openCalls }), this.parent);
    // Results come before anything else in their message.
    const at = type === "tool_result" ? this.parts.filter((each) => each.block.type === "tool_result").length : this.parts.length;
    this.list.insertBefore(part.element, this.parts[at]?.element ?? null);
    this.parts.splice(at, 0, part);
    this.#paint();
    part.focus();
  }

  /** @param {BlockPart} part @param {number} step */
  #move(part, step) {
    const from = this.parts.indexOf(part);
    const to = from + step;
    if (to < 0 || to >= this.parts.length) return;
    this.parts.splice(from, 1);
    this.parts.splice(to, 0, part);
    this.list.insertBefore(part.element, this.parts[to + 1]?.element ?? null);
    this.#paint();
    this.onChange();
    part.focus();
  }

  /** @param {BlockPart} part */
  #remove(part) {
    const index = this.parts.indexOf(part);
    this.parts.splice(index, 1);
    part.remove();
    this.#paint();
    this.onChange();
    this.parts[Math.max(0, index - 1)]?.focus();
  }

  #paint() {
    this.parts.forEach((part, index) => part.setPlace(index, this.parts.length));
  }

  /** @param {string} path such as "content.1.text" @returns {BlockPart | undefined} the block that it is about */
  at(path) {
    const index = /^content\.(\d+)/.exec(path)?.[1];
    return index === undefined ? undefined : this.parts[Number(index)];
  }

  clearErrors() {
    for (const part of this.parts) part.showError("");
  }

  /** Those of texts that take variables. @returns {TextSlot[]} */
  get texts() {
    return this.parts.flatMap((part) => part.text ?? []);
  }

  get slots() {
    return this.parts.flatMap((part) => part.slots);
  }

  /** @returns {TextSlot} */
  get firstSlot() {
    return this.texts[0] ?? this.slots[0];
  }

  focus() {
    this.parts[0]?.focus();
  }
}
