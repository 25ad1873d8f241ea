/* Get code: the saved version as a call from cURL or Python, with the values that are filled in now. */
import { callText } from "./api.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";
import { bindTabs } from "./tabs.js";

/* Values travel in the address, which servers cut at some 8 KB. */
const LONGEST_QUERY = 6_000;

/** @typedef {{promptId: string, number: number, isDirty: boolean, values: Record<string, string>}} Wanted */

export class CodeDialog {
  constructor() {
    this.dialog = one("[data-code-dialog]", document, HTMLDialogElement);
    this.text = one("[data-code-text]", this.dialog, HTMLElement);
    this.language = "curl";
    /** @type {Wanted | null} */
    this.wanted = null;
    bindTabs(one("[data-code-tabs]", this.dialog, HTMLElement), (tab) => {
      this.language = tab.getAttribute("value") ?? "curl";
      void this.#fetch();
    });
  }

  /** @param {Wanted} wanted */
  open(wanted) {
    this.wanted = wanted;
    openDialog(this.dialog);
    void this.#fetch();
  }

  /**
   * @param {Record<string, string>} values
   * @returns {{query: string, left: boolean}} `left`: some values were too long to send along
   */
  #query(values) {
    const query = encodeURIComponent(JSON.stringify(values));
    if (query.length <= LONGEST_QUERY) return { query, left: false };
    const short = Object.fromEntries(Object.entries(values).filter(([, value]) => value.length < 200));
    return { query: encodeURIComponent(JSON.stringify(short)), left: true };
  }

  async #fetch() {
    const { wanted, language } = this;
    if (!wanted) return;
    const { query, left } = this.#query(wanted.values);
    this.#warn(wanted, left);
    this.#say("");
    try {
      const text = await callText(`prompts/${wanted.promptId}/versions/${wanted.number}/snippets/${language}?variables=${query}`);
      if (language === this.language) this.text.textContent = text;
    } catch (error) {
      this.text.textContent = "";
      this.#say(/** @type {Error} */ (error).message);
    }
  }

  /**
   * @param {Wanted} wanted
   * @param {boolean} left
   */
  #warn(wanted, left) {
    const words = [
      wanted.isDirty && `This is version ${wanted.number} as saved. Your unsaved changes are not in it.`,
      left && "Long values stay as {{name}} here.",
    ].filter(Boolean);
    one("[data-code-stale]", this.dialog, HTMLElement).hidden = words.length === 0;
    one("[data-code-stale-text]", this.dialog).textContent = words.join(" ");
  }

  /** @param {string} text */
  #say(text) {
    const problem = one("[data-code-error]", this.dialog, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
    this.text.hidden = !!text;
  }
}
