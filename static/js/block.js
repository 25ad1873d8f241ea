/*
 * One message (or the system text): role in the gutter, its text or its content blocks beside it. Of a long conversation
 * only what comes into view is made: an editor takes milliseconds, and there may be 2,000.
 */
import { BlockParts } from "./editor/block_parts.js";
import { openBlockMenu } from "./editor/block_menu.js";
import { addable, endsInBlank, outline, prefillOf } from "./editor/content_blocks.js";
import { el, fromTemplate, one } from "./dom.js";
import { isUnsent } from "./large/references.js";
import { TextSlot } from "./large/text_slot.js";
import { may } from "./sharing/permissions.js";
import { promptTexts } from "./spec.js";
import { toast } from "./toast.js";
import { markUnset, variablePills } from "./variable_pills.js";
import { renamedContent, renameInTexts } from "./variable_rename.js";

/** @typedef {"system" | "user" | "assistant"} Role */
/** @typedef {import("./large/text_slot.js").Watch} Watch */
/**
 * @typedef {object} BlockParent
 * @property {() => void} onChange
 * @property {(block: Block, step: number) => void} onMove
 * @property {(block: Block) => void} onRemove
 * @property {(block: Block) => string[]} openCalls ids of calls that this message could answer
 * @property {(element: HTMLElement, make: () => void) => void} whenSeen
 */

const NAMES = { system: "System", user: "User", assistant: "Assistant" };
const HINTS = {
  system: "Who the model is and how it answers. Left empty, none is sent.",
  user: "What you say. {{name}} is a variable.",
  assistant: "What the model said, or how its answer must begin.",
};

export class Block {
  /**
   * @param {Role} role
   * @param {any} content a text or what names one, or a list of content blocks
   * @param {BlockParent} parent
   * @param {{later?: boolean}} [options] later: made when it comes into view
   */
  constructor(role, content, parent, { later = false } = {}) {
    this.role = role;
    this.parent = parent;
    this.saved = content;
    this.element = el("article", { class: "block" });
    /** Before it has an editor: what it holds, and the renames that its editor will do once more, each a step of undo. */
    this.content = content;
    /** @type {[string, string][]} */
    this.renames = [];
    this.isMade = false;
    this.isPrefill = false;
    /** @type {TextSlot | null} */
    this.slot = null;
    /** @type {BlockParts | null} */
    this.parts = null;
    this.place = { index: 0, count: 1 };
    if (later) this.#wait();
    else this.make();
  }

  /* In its place until it comes into view: as high as it will be, and its text can be read and found. */
  #wait() {
    const text = outline(this.saved);
    const shown = el("pre", { class: "block-waiting", tabindex: 0 }, text || (typeof this.saved === "string" ? " " : "A large text"));
    shown.addEventListener("focus", () => {
      this.make();
      this.focus();
    });
    this.element.append(el("div", { class: "block-gutter" }, el("span", { class: "block-role" }, NAMES[this.role])), el("div", { class: "block-main" }, shown));
    this.element.setAttribute("aria-label", NAMES[this.role]);
    this.element.dataset.role = this.role;
    this.parent.whenSeen(this.element, () => this.make());
  }

  make() {
    if (this.isMade) return;
    this.isMade = true;
    const inside = fromTemplate("block");
    this.element.replaceChildren(...inside.children);
    this.#fill(this.saved);
    this.#bind();
    this.#paint();
    for (const [from, to] of this.renames) renameInTexts(this.fields(), from, to);
  }

  /** @param {any} content */
  #fill(content) {
    const place = one("[data-block-text]", this.element, HTMLElement);
    if (Array.isArray(content)) {
      this.parts = new BlockParts(place, content, () => this.#changed());
      return;
    }
    this.slot = new TextSlot(place, {
      label: `${NAMES[this.role]} text`,
      placeholder: HINTS[this.role],
      onChange: () => this.#changed(),
      extensions: [variablePills],
    });
    this.slot.load(content ?? "");
  }

  #bind() {
    const on = (/** @type {string} */ selector, /** @type {() => void} */ action) => one(selector, this.element).addEventListener("click", action);
    on("[data-block-role]", () => this.#switchRole());
    on("[data-block-up]", () => this.parent.onMove(this, -1));
    on("[data-block-down]", () => this.parent.onMove(this, 1));
    on("[data-block-attach]", () => this.editor.pick());
    on("[data-block-remove]", () => this.parent.onRemove(this));
    on("[data-block-add]", () => openBlockMenu(one("[data-block-add]", this.element, HTMLElement), addable(this.role), (type) => this.#add(type)));
    one(".block-tools", this.element, HTMLElement).hidden = !may("change");
    one("[data-block-grip]", this.element, HTMLElement).hidden = !may("change");
  }

  /** A content block more; a message that is one text becomes a list that begins with it. @param {string} type */
  #add(type) {
    if (!this.parts) {
      const text = this.slot?.read() ?? "";
      if (isUnsent(text)) {
        toast("The large text of this message was changed and is not sent yet. Save first, then add a block.", { tone: "warn" });
        return;
      }
      this.slot?.destroy();
      this.slot = null;
      one("[data-block-text]", this.element).replaceChildren();
      this.#fill(text === "" ? [] : [{ type: "text", text }]);
    }
    /** @type {BlockParts} */ (/** @type {unknown} */ (this.parts)).add(type, this.parent.openCalls(this));
    this.#changed();
  }

  #switchRole() {
    this.role = this.role === "user" ? "assistant" : "user";
    this.#paint();
    this.parent.onChange();
  }

  #changed() {
    this.showError("");
    this.tell([]);
    this.#paintNote();
    this.parent.onChange();
  }

  #paint() {
    const button = one("[data-block-role]", this.element, HTMLButtonElement);
    const other = this.role === "user" ? NAMES.assistant : NAMES.user;
    this.element.dataset.role = this.role;
    button.textContent = NAMES[this.role];
    button.disabled = this.role === "system" || !may("change");
    if (!button.disabled) button.title = `Switch to ${other.toLowerCase()}`;
    this.#paintPlace();
    this.#paintNote();
  }

  /**
   * Where it stands among the messages.
   * @param {number} index
   * @param {number} count
   */
  setPlace(index, count) {
    const before = this.place;
    this.place = { index, count };
    this.isPrefill = this.role === "assistant" && index === count - 1;
    // Of 2,000 messages, most learn nothing new when one moves.
    const isEdge = (/** @type {{index: number, count: number}} */ at) => at.index === 0 || at.index >= at.count - 1;
    if (this.isMade && (isEdge(before) || isEdge(this.place) || before.index !== index)) this.#paintPlace();
  }

  #paintPlace() {
    const { index, count } = this.place;
    if (this.role === "system") {
      this.element.setAttribute("aria-label", NAMES.system);
      return;
    }
    this.isPrefill = this.role === "assistant" && index === count - 1;
    this.element.setAttribute("aria-label", `${NAMES[this.role]}, message ${index + 1} of ${count}`);
    one("[data-block-up]", this.element, HTMLButtonElement).disabled = index === 0;
    one("[data-block-down]", this.element, HTMLButtonElement).disabled = index === count - 1;
    one("[data-block-remove]", this.element, HTMLButtonElement).disabled = count === 1;
    one("[data-block-prefill]", this.element, HTMLElement).hidden = !this.isPrefill;
    this.#paintNote();
  }

  #paintNote() {
    const note = one("[data-block-note]", this.element, HTMLElement);
    const blank = this.prefillEndsInBlank;
    const lines = this.slot?.note ?? "";
    const words = blank ? "Ends in a blank, which the Messages API refuses at the beginning of an answer. Remove it before you run." : "";
    note.textContent = [words, lines].filter(Boolean).join(" ");
    note.hidden = note.textContent === "";
    note.classList.toggle("is-warn", blank || (this.slot?.lines.mixed ?? false));
  }

  /** Whether this begins the answer and would be refused for its last character. */
  get prefillEndsInBlank() {
    return this.isPrefill && endsInBlank(prefillOf([{ role: this.role, content: this.read() }]));
  }

  /** The editor of its text; of content blocks, that of the first. @returns {TextSlot} */
  get editor() {
    this.make();
    return this.slot ?? /** @type {BlockParts} */ (this.parts).firstSlot;
  }

  get isEmpty() {
    if (!this.isMade) return this.saved === "" || this.saved === undefined;
    return this.slot?.isEmpty ?? false;
  }

  /** The content as the API takes it; undefined when there is none (an empty system text). */
  read() {
    if (!this.isMade) return this.content;
    if (this.parts) return this.parts.read();
    const text = /** @type {TextSlot} */ (this.slot).read();
    return this.role === "system" && text === "" && this.saved !== "" ? undefined : text;
  }

  /** What takes variables here, as far as it is in the page. @returns {string[]} */
  texts() {
    return promptTexts({ messages: [{ role: "user", content: this.read() }] });
  }

  /** @param {string} place @returns {import("./variable_rename.js").Field[]} every text that takes variables */
  fields(place = "") {
    this.make();
    const label = `${NAMES[this.role]} text${place}`;
    const slots = this.slot ? [this.slot] : /** @type {BlockParts} */ (this.parts).texts;
    return slots.map((slot) => ({ label, slot }));
  }

  /**
   * Renames a variable in its texts. Of 2,000 messages, only those in view have editors, and none is made for this.
   * @param {string} from
   * @param {string} to
   * @returns {{places: number, texts: number}} how often that was
   */
  rename(from, to) {
    if (this.isMade) return renameInTexts(this.fields(), from, to);
    const { content, places, texts } = renamedContent(this.content, from, to);
    if (places === 0) return { places, texts };
    this.content = content;
    this.renames.push([from, to]);
    one(".block-waiting", this.element).textContent = outline(content);
    return { places, texts };
  }

  /** @param {Set<string>} unset */
  markUnset(unset) {
    // What is not made yet reads what is unset when it is.
    if (this.isMade) for (const { slot } of this.fields()) markUnset(slot.view, unset);
  }

  /**
   * @param {string} message "" clears it
   * @param {string} [path] where in the content: "content.0.text"
   */
  showError(message, path = "") {
    if (!message && !this.isMade) return;
    this.make();
    const part = this.parts?.at(path);
    part?.showError(message);
    if (!message) this.parts?.clearErrors();
    const problem = one("[data-block-error]", this.element, HTMLElement);
    problem.textContent = part ? "" : message;
    problem.hidden = !message || part !== undefined;
  }

  /** What a run of this would be refused for. @param {string[]} sentences */
  tell(sentences) {
    if (!this.isMade && sentences.length === 0) return;
    this.make();
    const place = one("[data-block-problem]", this.element, HTMLElement);
    const words = sentences.join(" ");
    if (place.textContent !== words) place.textContent = words;
    place.hidden = !words;
  }

  /** Sends large texts that were edited. @param {Watch} [watch] */
  async send(watch) {
    if (!this.isMade) return;
    for (const slot of this.#slots) await slot.send(watch);
  }

  settle() {
    if (this.isMade) for (const slot of this.#slots) slot.settle();
  }

  get #slots() {
    return this.slot ? [this.slot] : /** @type {BlockParts} */ (this.parts).slots;
  }

  focus() {
    this.make();
    if (this.slot) this.slot.focus();
    else this.parts?.focus();
  }

  remove() {
    this.element.remove();
    if (!this.isMade) return;
    for (const slot of this.#slots) slot.destroy();
  }
}
