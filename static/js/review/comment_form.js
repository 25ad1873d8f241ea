/* Where a comment, a reply or an edit is written. What was written stays until it is sent or put away. */
import { ApiError, newKey } from "../api.js";
import { el, fromTemplate, one } from "../dom.js";
import { keyNames } from "../keys.js";
import { toastError } from "../toast.js";
import { Mentions } from "./mentions.js";

/** @typedef {import("./mentions.js").Person} Person */

const MOST = 10_000;
const WARN_FROM = 9000;

export class CommentForm {
  /**
   * @param {string} promptId
   * @param {{label: string, action: string, text?: string, people?: Person[], onSend: (sent: {body: string, mentions: string[]}, key: string) => Promise<unknown>, onClose: () => void}} options
   */
  constructor(promptId, options) {
    this.options = options;
    this.element = /** @type {HTMLFormElement} */ (fromTemplate("comment-form"));
    this.field = one("textarea", this.element, HTMLTextAreaElement);
    this.problem = one("[data-comment-problem]", this.element, HTMLElement);
    this.button = one("[type=submit]", this.element, HTMLButtonElement);
    this.key = newKey();
    this.field.value = options.text ?? "";
    this.field.setAttribute("aria-label", options.label);
    this.field.placeholder = options.label;
    this.button.textContent = options.action;
    this.button.append(el("kbd", { class: "wide-only" }, keyNames("mod+enter").join("+")));
    this.mentions = new Mentions(this.field, promptId, options.people ?? []);
    one("[data-comment-field]", this.element).append(this.mentions.list);
    this.#bind();
  }

  #bind() {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        // Not the page's Run.
        event.preventDefault();
        event.stopPropagation();
        void this.#send();
      } else if (event.key === "Escape" && !event.defaultPrevented && !this.field.value.trim()) {
        event.stopPropagation();
        this.options.onClose();
      }
    });
    this.field.addEventListener("input", () => this.#count());
    one("[data-comment-cancel]", this.element).addEventListener("click", () => this.options.onClose());
  }

  #count() {
    const length = [...this.field.value].length;
    this.say(length > MOST ? `${length.toLocaleString()} characters: a comment has at most ${MOST.toLocaleString()}.` : length > WARN_FROM ? `${length.toLocaleString()} of ${MOST.toLocaleString()} characters` : "", length > MOST);
  }

  /** @param {string} words @param {boolean} [bad] */
  say(words, bad = false) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
    this.problem.classList.toggle("field-error", bad);
  }

  async #send() {
    const body = this.field.value;
    if (!body.trim() || this.button.disabled) return;
    this.button.disabled = true;
    try {
      await this.options.onSend({ body, mentions: this.mentions.ids }, this.key);
      this.key = newKey();
    } catch (error) {
      // What the server refused is another wish when it is sent again; a cut connection is not.
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      if (error instanceof ApiError) this.say(error.sentence, true);
      else toastError(error);
    }
    this.button.disabled = false;
  }

  focus() {
    this.field.focus();
  }
}
