/* The system text and the messages, in order: add, remove, move. */
import { one } from "./dom.js";
import { Block } from "./block.js";
import { openCalls } from "./editor/content_blocks.js";
import { bindOrder } from "./editor/message_order.js";
import { dropNotice, notice } from "./notices.js";
import { may } from "./sharing/permissions.js";

/** So many messages are made with the page; those further down when they come into view. */
const AT_ONCE = 30;
const AHEAD = "800px";
/** Longer lists are laid out only where they are seen. */
const LONG = 60;
/** Of a frame, so much goes into making what comes into view: scrolling stays smooth. */
const FRAME_MS = 8;

export class Blocks {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.root = root;
    /** What to do once an element comes near the window. @type {WeakMap<Element, () => void>} */
    this.waiting = new WeakMap();
    /** Those that are near it now. @type {Set<Element>} */
    this.near = new Set();
    this.seen = new IntersectionObserver((entries) => this.#see(entries), { root: root.closest(".editor-scroll"), rootMargin: `${AHEAD} 0px` });
    /** @type {import("./block.js").BlockParent} */
    this.parent = {
      onChange,
      onMove: (block, step) => this.#step(block, step),
      onRemove: (block) => this.#remove(block),
      openCalls: (block) => this.#openCalls(block),
      whenSeen: (element, make) => {
        this.waiting.set(element, make);
        this.seen.observe(element);
      },
    };
    /** @type {Block[]} */
    this.messages = [];
    this.system = new Block("system", undefined, this.parent);
    if (may("change")) bindOrder(root, (element, before) => this.#drop(element, before), (element, step) => this.#step(this.#blockOf(element), step));
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #see(entries) {
    const wasIdle = this.near.size === 0;
    for (const { isIntersecting, target } of entries) {
      // What was only scrolled past is not made.
      if (isIntersecting) this.near.add(target);
      else this.near.delete(target);
    }
    if (wasIdle && this.near.size > 0) requestAnimationFrame(() => this.#makeSome());
  }

  #makeSome() {
    const until = performance.now() + FRAME_MS;
    for (const element of this.near) {
      this.near.delete(element);
      this.seen.unobserve(element);
      this.waiting.get(element)?.();
      this.waiting.delete(element);
      if (performance.now() > until) break;
    }
    if (this.near.size > 0) requestAnimationFrame(() => this.#makeSome());
  }

  /** @param {import("./spec.js").Spec} spec */
  load(spec) {
    dropNotice("message-removed");
    this.seen.disconnect();
    this.near.clear();
    for (const block of [this.system, ...this.messages]) block.remove();
    this.system = new Block("system", spec.system, this.parent);
    this.messages = spec.messages.map(({ role, content }, index) => new Block(role, content, this.parent, { later: index >= AT_ONCE }));
    this.root.replaceChildren(...this.all.map((block) => block.element));
    this.#paintPlaces();
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
    const last = this.messages.at(-1);
    const role = last?.role === "user" ? "assistant" : "user";
    const calls = role === "user" ? openCalls(last?.read(), "") : [];
    // Calls that wait are what comes next, or nothing can be sent.
    const content = calls.length > 0 ? calls.map((id) => ({ type: "tool_result", tool_use_id: id, content: "" })) : "";
    this.append([{ role, content }]);
  }

  /**
   * More messages at the end, as an unsaved change; the last one has the focus.
   * @param {{role: "user" | "assistant", content: any}[]} messages
   */
  append(messages) {
    if (messages.length === 0) return;
    const blocks = messages.map(({ role, content }) => new Block(role, content, this.parent));
    this.messages.push(...blocks);
    this.root.append(...blocks.map((block) => block.element));
    this.#changed();
    blocks[blocks.length - 1].focus();
  }

  #changed() {
    this.#paintPlaces();
    this.parent.onChange();
  }

  /** @param {HTMLElement} element */
  #blockOf(element) {
    return this.messages.find((block) => block.element === element);
  }

  /**
   * @param {Block | undefined} block
   * @param {number} step
   */
  #step(block, step) {
    if (!block) return;
    const held = document.activeElement;
    const to = this.messages.indexOf(block) + step;
    if (to < 0 || to >= this.messages.length) return;
    this.#move(block, to);
    // What moves in the document loses the focus; at an end, the button that brought it there is off.
    const back = held instanceof HTMLButtonElement && block.element.contains(held) && !held.disabled ? held : one("[data-block-grip]", block.element, HTMLElement);
    back.focus();
    block.element.scrollIntoView({ block: "nearest" });
  }

  /** @param {HTMLElement} element @param {HTMLElement | null} before */
  #drop(element, before) {
    const block = this.#blockOf(element);
    if (!block) return;
    const from = this.messages.indexOf(block);
    const next = before ? this.messages.findIndex((each) => each.element === before) : this.messages.length;
    const to = next > from ? next - 1 : next;
    if (next >= 0 && to !== from) this.#move(block, to);
  }

  /** @param {Block} block @param {number} to */
  #move(block, to) {
    this.messages.splice(this.messages.indexOf(block), 1);
    this.messages.splice(to, 0, block);
    this.root.insertBefore(block.element, this.messages[to + 1]?.element ?? null);
    this.#changed();
    this.#say(`Message ${to + 1} of ${this.messages.length} now`);
  }

  /** @param {string} words for who does not see it move */
  #say(words) {
    one("[data-blocks-said]").textContent = words;
  }

  /** @param {Block} block */
  #remove(block) {
    const index = this.messages.indexOf(block);
    this.messages.splice(index, 1);
    block.element.remove();
    this.#changed();
    (this.messages[Math.max(0, index - 1)] ?? this.system).focus();
    const back = () => this.#putBack(block, index);
    notice(`Message ${index + 1} was deleted.`, { name: "message-removed", actions: [{ label: "Put it back", action: back }] });
  }

  /** @param {Block} block @param {number} index */
  #putBack(block, index) {
    const at = Math.min(index, this.messages.length);
    this.root.insertBefore(block.element, this.messages[at]?.element ?? null);
    this.messages.splice(at, 0, block);
    this.#changed();
    block.focus();
  }

  #paintPlaces() {
    this.root.toggleAttribute("data-long", this.messages.length > LONG);
    this.messages.forEach((block, index) => block.setPlace(index, this.messages.length));
  }

  /** @param {Block} block @returns {string[]} */
  #openCalls(block) {
    const before = this.messages[this.messages.indexOf(block) - 1];
    return before?.role === "assistant" ? openCalls(before.read(), block.read()) : [];
  }

  /** The beginning of the answer, if it ends in a blank: the API refuses that. @returns {Block | null} */
  get blankPrefill() {
    const last = this.messages.at(-1);
    return last?.prefillEndsInBlank ? last : null;
  }

  /** Every text that takes variables. @returns {import("./variable_rename.js").Field[]} */
  fields() {
    return [...this.system.fields(), ...this.messages.flatMap((block, index) => block.fields(` of message ${index + 1}`))];
  }

  /** @param {Set<string>} unset */
  markUnset(unset) {
    for (const block of this.all) block.markUnset(unset);
  }

  /** @param {string} field such as "messages.1.content.0.text" @returns {{block: Block | undefined, path: string}} */
  #at(field) {
    const [, index, path = ""] = /^messages\.(\d+)\.?(.*)$/.exec(field) ?? [];
    if (index !== undefined) return { block: this.messages[Number(index)], path };
    return { block: /^system\b/.test(field) ? this.system : undefined, path: field.replace(/^system\.?/, "content.") };
  }

  /**
   * Shows an error of the server at the block it is about.
   * @param {string} field such as "messages.1.content"
   * @param {string} message
   * @returns {boolean} whether it is about a block
   */
  showError(field, message) {
    const { block, path } = this.#at(field);
    block?.showError(message, path);
    block?.focus();
    return block !== undefined;
  }

  /**
   * Shows what a run would be refused for, each at its message.
   * @param {{field: string, message: string}[]} problems
   * @returns {{field: string, message: string}[]} those that are about no message
   */
  tell(problems) {
    /** @type {Map<Block, string[]>} */
    const told = new Map();
    const others = problems.filter(({ field, message }) => {
      const { block } = this.#at(field);
      if (block) told.set(block, [...(told.get(block) ?? []), message]);
      return !block;
    });
    for (const block of this.all) block.tell(block.prefillEndsInBlank ? [] : (told.get(block) ?? []));
    return others;
  }

  /**
   * Sends large texts that were edited; then none is left unsent.
   * @param {import("./large/text_slot.js").Watch} [watch]
   */
  async send(watch) {
    for (const block of this.all) await block.send(watch);
  }

  settle() {
    for (const block of this.all) block.settle();
  }

  clearErrors() {
    for (const block of this.all) block.showError("");
  }
}
