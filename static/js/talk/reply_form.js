/* Where a reply to a run is written: results for its calls, text, and the key that sends. */
import { create, newKey } from "../api.js";
import { sends } from "../chat/enter.js";
import { fromTemplate, one } from "../dom.js";
import { keyNames } from "../keys.js";
import { callsOf, isAnswered, missing, missingWords, replyContent } from "./conversation.js";
import { keepDraft, readDraft } from "./drafts.js";
import { tooLong } from "./limits.js";

/** @typedef {import("./conversation.js").ContentBlock} ContentBlock */
/** @typedef {import("./tool_call.js").ToolCall} ToolCall */
/** @typedef {{onSent: (run: string, content: string | ContentBlock[]) => void, onCancel?: () => void, onAppend?: () => void}} Hooks */

export class ReplyForm {
  /**
   * @param {string} run the one that is replied to
   * @param {string | ContentBlock[]} answer of that run
   * @param {(block: ContentBlock) => ToolCall} cardOf
   * @param {Hooks} hooks
   * @param {string} [draft] under which name what is typed is kept
   */
  constructor(run, answer, cardOf, hooks, draft = run) {
    this.run = run;
    this.hooks = hooks;
    this.draft = draft;
    this.calls = callsOf(answer);
    /** @type {Map<string, ToolCall>} */
    this.cards = new Map(this.calls.map((block) => [block.id, cardOf(block)]));
    this.element = /** @type {HTMLFormElement} */ (fromTemplate("reply"));
    this.text = one("[data-reply-text]", this.element, HTMLTextAreaElement);
    this.sendButton = one("[data-reply-send]", this.element, HTMLButtonElement);
    this.composedAt = -Infinity;
    this.busy = false;
    this.key = newKey();
    this.#bind();
    this.load(readDraft(draft));
  }

  #bind() {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.send();
    });
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
    this.element.addEventListener("compositionend", (event) => {
      this.composedAt = event.timeStamp;
    });
    this.text.addEventListener("beforeinput", (event) => tooLong(event, this.text, (words) => this.say(words)));
    this.text.addEventListener("input", () => this.#changed());
    for (const card of this.cards.values()) {
      card.onChange = () => this.#changed();
      card.allow(true);
      card.text.addEventListener("keydown", (event) => this.#onKey(event));
      card.text.addEventListener("compositionend", (event) => {
        this.composedAt = event.timeStamp;
      });
    }
    const button = (/** @type {string} */ name, /** @type {(() => void) | undefined} */ action) => {
      const found = one(name, this.element, HTMLButtonElement);
      found.hidden = !action;
      if (action) found.addEventListener("click", action);
    };
    button("[data-reply-cancel]", this.hooks.onCancel && (() => this.cancel()));
    button("[data-reply-append]", this.hooks.onAppend && (() => this.#append()));
    one("[data-reply-key]", this.element).textContent = keyNames("mod+enter").join("+");
    if (this.calls.length > 0) this.text.placeholder = "Say something besides the results, or nothing";
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    // As on a screen keyboard: Enter alone begins a line.
    if (sends(event, this.composedAt, true)) {
      // Or the page would run the prompt anew.
      event.preventDefault();
      void this.send();
    } else if (event.key === "Escape" && !event.isComposing && this.hooks.onCancel) {
      // What was typed is kept: only the button throws it away.
      event.preventDefault();
      this.hooks.onCancel();
    }
  }

  /** @param {import("./drafts.js").Draft} draft */
  load(draft) {
    this.text.value = draft.text;
    for (const [id, card] of this.cards) card.fill(draft.answers.get(id));
    this.#paint();
  }

  get answers() {
    return new Map([...this.cards].map(([id, card]) => [id, card.answer]));
  }

  #changed() {
    this.say("");
    const answers = new Map([...this.answers].filter(([, answer]) => isAnswered(answer) || answer.isError));
    const kept = keepDraft(this.draft, { text: this.text.value, answers });
    if (!kept) this.say("This browser's storage is full: what you type here is kept only while this page is open.");
    // Another text is another wish.
    this.key = newKey();
    this.#paint();
  }

  #paint() {
    const left = missing(this.calls, this.answers);
    const label = left.length > 0 ? missingWords(left) : "Send reply";
    one("[data-reply-label]", this.element).textContent = label;
    this.sendButton.setAttribute("aria-disabled", String(left.length > 0 || this.busy));
  }

  /** @param {string} words "" for none */
  say(words) {
    const error = one("[data-reply-error]", this.element, HTMLElement);
    error.textContent = words;
    error.hidden = !words;
  }

  async send() {
    if (this.busy) return;
    const [first] = missing(this.calls, this.answers);
    if (first) {
      this.cards.get(first.id)?.focus();
      return;
    }
    const content = replyContent(this.calls, this.answers, this.text.value);
    if (typeof content === "string" && !content.trim()) {
      this.text.focus();
      return;
    }
    this.busy = true;
    this.#paint();
    try {
      const { id } = await create(`runs/${this.run}/replies`, { content }, this.key);
      keepDraft(this.draft, { text: "", answers: new Map() });
      this.hooks.onSent(id, content);
    } catch (error) {
      // Refused is decided; a cut connection is not, and the same key asks for the same run again.
      if (/** @type {any} */ (error).status > 0) this.key = newKey();
      this.say(/** @type {any} */ (error).sentence ?? /** @type {Error} */ (error).message);
    } finally {
      this.busy = false;
      this.#paint();
    }
  }

  /* Once: a second click would add all of it again. */
  #append() {
    const button = one("[data-reply-append]", this.element, HTMLButtonElement);
    button.disabled = true;
    one("span", button).textContent = "Added to messages";
    this.hooks.onAppend?.();
  }

  cancel() {
    keepDraft(this.draft, { text: "", answers: new Map() });
    this.hooks.onCancel?.();
  }

  focus() {
    (this.calls.length > 0 ? this.cards.get(this.calls[0].id) : this.text)?.focus();
  }
}
