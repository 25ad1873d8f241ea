/* Where one writes: Enter sends, a draft is kept, an edit takes the place of the draft and gives it back. */
import { one } from "../dom.js";
import { keepDraft, readDraft } from "./drafts.js";
import { sends } from "./enter.js";

/** @typedef {import("./messages.js").Message} Message */

const MOST = 4000;
const MOST_BYTES = 16 * 1024;
const WARN_FROM = 3500;

/** @param {string} text @returns {string} why it cannot be sent; "" if it can */
export function problemWith(text) {
  const length = [...text.normalize("NFC")].length;
  if (length > MOST) return `${length.toLocaleString()} characters: a message has at most ${MOST.toLocaleString()}. Send it in parts.`;
  if (new TextEncoder().encode(text).length > MOST_BYTES) return "This is more than 16 KiB. Send it in parts.";
  return "";
}

export class Composer {
  /**
   * @param {string} conversation
   * @param {{onSend: (text: string) => void | Promise<void>, onEdit: (message: Message, text: string) => Promise<void>, onTyping: () => void, lastOwn: () => Message | undefined}} hooks
   */
  constructor(conversation, hooks) {
    this.conversation = conversation;
    this.hooks = hooks;
    this.form = one("[data-composer]", document, HTMLFormElement);
    this.text = one("[data-composer-text]", document, HTMLTextAreaElement);
    this.note = one("[data-composer-note]", document, HTMLElement);
    this.editing = one("[data-editing]", document, HTMLElement);
    /** @type {Message | null} */
    this.edited = null;
    this.composedAt = -Infinity;
    this.busy = false;
    this.byTouch = matchMedia("(pointer: coarse)").matches;
    // What a form without scripts could not send is newer than the draft.
    if (!this.text.value) this.text.value = readDraft(conversation);
    this.#bind();
    if (!this.byTouch) this.text.focus({ preventScroll: true });
  }

  #bind() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.text.addEventListener("input", () => this.#changed());
    this.text.addEventListener("compositionend", (event) => {
      this.composedAt = event.timeStamp;
    });
    this.text.addEventListener("keydown", (event) => this.#key(event));
    one("[data-edit-cancel]").addEventListener("click", () => this.#endEdit());
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (sends(event, this.composedAt, this.byTouch)) {
      event.preventDefault();
      void this.#submit();
    } else if (event.key === "Escape" && this.edited && !event.isComposing) {
      event.preventDefault();
      this.#endEdit();
    } else if (event.key === "Escape" && !event.isComposing) {
      // Out of the field, the single keys of the page work.
      this.text.blur();
    } else if (event.key === "ArrowUp" && !this.text.value && !this.edited) {
      const last = this.hooks.lastOwn();
      if (!last) return;
      event.preventDefault();
      this.edit(last);
    }
  }

  #changed() {
    if (!this.edited) keepDraft(this.conversation, this.text.value);
    const length = this.text.value.length;
    const problem = length > WARN_FROM ? problemWith(this.text.value) : "";
    this.say(problem || (length > WARN_FROM ? `${length.toLocaleString()} of ${MOST.toLocaleString()} characters` : ""), Boolean(problem));
    if (this.text.value.trim() && !this.edited) this.hooks.onTyping();
  }

  /** @param {string} words @param {boolean} bad */
  say(words, bad = false) {
    this.note.textContent = words;
    this.note.classList.toggle("is-bad", bad);
  }

  async #submit() {
    const text = this.text.value;
    const problem = problemWith(text);
    if (problem) this.say(problem, true);
    if (problem || !text.trim() || this.busy || this.text.disabled) return;
    if (this.edited) {
      await this.#submitEdit(this.edited, text);
      return;
    }
    // Emptied before anything else happens: a second click finds nothing to send.
    this.#set("");
    keepDraft(this.conversation, "");
    void this.hooks.onSend(text);
    this.text.focus();
  }

  /** @param {Message} message @param {string} text */
  async #submitEdit(message, text) {
    this.busy = true;
    try {
      if (text !== message.body) await this.hooks.onEdit(message, text);
      this.#endEdit();
    } catch (error) {
      this.say(/** @type {Error} */ (error).message, true);
    }
    this.busy = false;
  }

  /** @param {Message} message */
  edit(message) {
    this.edited = message;
    this.editing.hidden = false;
    this.#set(message.body ?? "");
    this.text.focus();
  }

  #endEdit() {
    this.edited = null;
    this.editing.hidden = true;
    this.#set(readDraft(this.conversation));
    this.text.focus();
  }

  /** A text that comes back, such as one that was refused. @param {string} text */
  bring(text) {
    const before = this.text.value;
    this.#set(before ? `${text}\n${before}` : text);
    keepDraft(this.conversation, this.text.value);
    this.text.focus();
  }

  /** @param {string} text */
  #set(text) {
    this.text.value = text;
    this.say("");
  }

  /** @param {boolean} may */
  allow(may) {
    this.text.disabled = !may;
    one("[type=submit]", this.form, HTMLButtonElement).disabled = !may;
  }
}
