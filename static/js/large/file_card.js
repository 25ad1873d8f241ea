/* The card that stands for a large text: "notes.txt · 20.1 MB · 412,003 lines", or how far it is on its way. */
import { el, fromTemplate, one } from "../dom.js";

const WORDS = { read: "Reading", send: "Sending", check: "Checking and storing", wait: "The connection was cut; waiting to go on" };

/** @param {number} done */
const percent = (done) => `${Math.floor(done * 100)} %`;

export class FileCard {
  /** @param {string} name */
  constructor(name) {
    this.element = fromTemplate("file-card");
    this.state = one("[data-file-state]", this.element);
    this.progress = one("[data-file-progress]", this.element, HTMLProgressElement);
    this.actions = one("[data-file-actions]", this.element);
    one("[data-file-name]", this.element).textContent = name;
    this.element.setAttribute("aria-label", name);
    this.progress.setAttribute("aria-label", `How far ${name} is`);
  }

  /**
   * @param {string} text
   * @param {{label: string, action: () => void}[]} [actions]
   * @param {"plain" | "bad"} [tone]
   */
  say(text, actions = [], tone = "plain") {
    this.state.textContent = text;
    this.state.classList.toggle("field-error", tone === "bad");
    this.progress.hidden = true;
    this.actions.replaceChildren(
      ...actions.map(({ label, action }) => {
        const button = el("button", { class: "button button-small", type: "button" }, label);
        button.addEventListener("click", action);
        return button;
      }),
    );
  }

  /**
   * @param {keyof typeof WORDS | string} part
   * @param {number} done of 1
   */
  advance(part, done) {
    const words = WORDS[/** @type {keyof typeof WORDS} */ (part)] ?? part;
    const text = this.#words(part, words, done);
    if (this.state.textContent !== text) this.state.textContent = text;
    this.progress.hidden = false;
    if (part === "check" || (part === "wait" && done === 0)) this.progress.removeAttribute("value");
    else this.progress.value = done;
  }
  /** @param {string} part @param {string} words @param {number} done */
  #words(part, words, done) {
    if (part === "check") return words;
    if (part !== "wait") return `${words}, ${percent(done)}`;
    return done > 0 ? `Cut off with ${percent(done)} sent; waiting to go on` : words;
  }
}
