/* Search through all of a text, on the server: matches come a hundred at a time, as far as they are looked at. */
import { afterQuiet, one } from "../dom.js";

/** @typedef {import("./text_source.js").Match} Match */

const QUIET_MS = 250;

export class WindowSearch {
  /**
   * @param {HTMLElement} root
   * @param {import("./text_window.js").TextWindow} reader
   */
  constructor(root, reader) {
    this.reader = reader;
    this.form = one("[data-reader-search]", root, HTMLFormElement);
    this.field = one("input", this.form, HTMLInputElement);
    this.found = one("[data-reader-found]", root);
    this.buttons = ["[data-reader-previous]", "[data-reader-next]"].map((selector) => one(selector, root, HTMLButtonElement));
    /** @type {Match[]} */
    this.matches = [];
    /** @type {number | null} where the server goes on; null: all was searched */
    this.next = null;
    this.current = -1;
    this.words = "";
    const typed = afterQuiet(() => void this.#typed(), QUIET_MS);
    this.field.addEventListener("input", typed);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void (this.words === this.field.value ? this.step(1) : this.#typed());
    });
    this.buttons[0].addEventListener("click", () => void this.step(-1));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey && !event.isComposing) {
        event.preventDefault();
        void this.step(-1);
      }
    });
  }

  async #typed() {
    const words = this.field.value;
    if (words === this.words) return;
    this.words = words;
    this.matches = [];
    this.current = -1;
    this.next = words ? 0 : null;
    this.reader.view.words = words;
    this.reader.view.draw();
    this.#say(words ? "Searching" : "");
    if (words) await this.step(1);
  }

  /* Until there is a match more, or the whole text was searched. */
  async #more() {
    const { words } = this;
    const known = this.matches.length;
    while (this.next !== null && this.matches.length === known) {
      const answer = await this.reader.source.search(words, this.next);
      if (words !== this.words) return;
      this.matches.push(...answer.matches);
      this.next = answer.next;
    }
  }

  /** @param {number} direction */
  async step(direction) {
    try {
      const wanted = this.current + direction;
      if (wanted >= this.matches.length) await this.#more();
      if (this.matches.length === 0) return this.#say(this.words ? "Not found" : "");
      this.current = (wanted + this.matches.length) % this.matches.length;
      this.#say(`${(this.current + 1).toLocaleString()} of ${this.matches.length.toLocaleString()}${this.next === null ? "" : "+"}`);
      await this.reader.revealByte(this.matches[this.current].offset);
    } catch (error) {
      this.#say(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} text */
  #say(text) {
    this.found.textContent = text;
    for (const button of this.buttons) button.hidden = this.matches.length === 0;
  }
}
