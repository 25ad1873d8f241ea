/* A call of a tool: its arguments, and beneath them the result that the person types in the tool's place. */
import { call as ask } from "../api.js";
import { el, fromTemplate, one } from "../dom.js";
import { isAnswered } from "./conversation.js";
import { tooLong } from "./limits.js";

/** @typedef {import("./conversation.js").ContentBlock} ContentBlock */
/** @typedef {import("./conversation.js").Answer} Answer */

const SHOWN_PAST = 160;

/**
 * What a result looks like, so that half-typed JSON is noticed.
 * @param {string} value
 */
export function kindOf(value) {
  const trimmed = value.trim();
  if (!/^[[{"]/.test(trimmed)) return "";
  try {
    JSON.parse(trimmed);
    return "JSON";
  } catch (error) {
    return /^["]/.test(trimmed) ? "" : `Not JSON yet: ${/** @type {Error} */ (error).message}`;
  }
}

export class ToolCall {
  /**
   * @param {ContentBlock} block tool_use
   * @param {string} promptId
   */
  constructor(block, promptId) {
    this.block = block;
    this.promptId = promptId;
    this.element = fromTemplate("tool-call");
    this.text = one("[data-call-text]", this.element, HTMLTextAreaElement);
    this.error = one("[data-call-error]", this.element, HTMLInputElement);
    this.state = one("[data-call-state]", this.element, HTMLElement);
    this.isEmpty = false;
    /** Called whenever what was typed changes. */
    this.onChange = () => {};
    this.element.setAttribute("aria-label", `Call of ${block.name}`);
    one("[data-call-name]", this.element).textContent = block.name;
    one("[data-call-id]", this.element).textContent = block.id;
    this.text.setAttribute("aria-label", `Result of ${block.name}`);
    this.text.placeholder = `What ${block.name} answers: text or JSON`;
    this.#paintArguments();
    this.#bind();
  }

  #paintArguments() {
    const empty = Object.keys(this.block.input ?? {}).length === 0;
    const shown = empty ? el("p", { class: "faint" }, "No arguments") : el("pre", { class: "code is-wrapped", tabindex: 0 }, JSON.stringify(this.block.input, null, 2));
    one("[data-call-arguments]", this.element).append(shown);
  }

  #bind() {
    this.text.addEventListener("beforeinput", (event) => tooLong(event, this.text, (words) => this.#note(words)));
    this.text.addEventListener("input", () => this.#changed());
    this.error.addEventListener("change", () => this.#changed());
    one("[data-call-empty]", this.element).addEventListener("click", () => {
      this.fill({ value: "", isError: this.error.checked, isEmpty: true });
      this.onChange();
    });
    one("[data-call-earlier]", this.element).addEventListener("click", () => void this.#togglePast());
  }

  #changed() {
    this.isEmpty = false;
    this.#paint();
    this.onChange();
  }

  /** @returns {Answer} */
  get answer() {
    return { value: this.text.value, isError: this.error.checked, isEmpty: this.isEmpty };
  }

  /** @param {Answer | undefined} answer */
  fill(answer) {
    this.text.value = answer?.value ?? "";
    this.error.checked = answer?.isError ?? false;
    this.isEmpty = answer?.isEmpty ?? false;
    this.#paint();
  }

  /** Whether a result may be typed: not for a call of an earlier turn, nor for who only reads. @param {boolean} may */
  allow(may) {
    one("[data-call-answer]", this.element, HTMLElement).hidden = !may;
    this.state.hidden = !may;
    this.#paint();
  }

  focus() {
    this.text.focus();
  }

  #paint() {
    const answered = isAnswered(this.answer);
    this.state.textContent = !answered ? "No result yet" : this.error.checked ? "Answered: failed" : "Answered";
    this.state.className = `chip ${answered ? "is-good" : "is-warn"}`;
    this.#note(this.isEmpty ? "An empty result is sent." : kindOf(this.text.value));
  }

  /** @param {string} words */
  #note(words) {
    one("[data-call-note]", this.element).textContent = words;
  }

  async #togglePast() {
    const button = one("[data-call-earlier]", this.element, HTMLButtonElement);
    const list = one("[data-call-past]", this.element, HTMLElement);
    const opens = list.hidden;
    if (opens) await this.#fetchPast(list);
    list.hidden = !opens || list.childElementCount === 0;
    button.setAttribute("aria-expanded", String(!list.hidden));
  }

  /** @param {HTMLElement} list */
  async #fetchPast(list) {
    const tool = encodeURIComponent(this.block.name);
    try {
      const { results } = await ask(`prompts/${this.promptId}/tool-results?tool=${tool}`);
      list.replaceChildren(...results.map((/** @type {any} */ past) => this.#pastRow(past)));
      if (results.length === 0) this.#note(`You have typed no result of ${this.block.name} in this prompt yet.`);
    } catch (error) {
      this.#note(/** @type {Error} */ (error).message);
    }
  }

  /** @param {{content: string, is_error: boolean}} past */
  #pastRow(past) {
    const words = past.content.length > SHOWN_PAST ? `${past.content.slice(0, SHOWN_PAST)}…` : past.content;
    const button = el("button", { class: "tool-call-past-row", type: "button", dir: "auto" }, words);
    if (past.is_error) button.prepend(el("span", { class: "chip is-bad" }, "failed"), " ");
    button.addEventListener("click", () => {
      this.fill({ value: past.content, isError: past.is_error, isEmpty: false });
      one("[data-call-past]", this.element, HTMLElement).hidden = true;
      one("[data-call-earlier]", this.element, HTMLElement).setAttribute("aria-expanded", "false");
      this.text.focus();
      this.onChange();
    });
    return el("li", {}, button);
  }
}
