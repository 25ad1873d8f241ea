/* The list of versions, newest first, and the branches that end at them. */
import { call } from "./api.js";
import { el, fromTemplate, icon, one } from "./dom.js";
import { paintTime } from "./time.js";

/**
 * @typedef {{id: string, number: number, parent: number | null, author: string | null, message: string, created_at: string, branches?: string[]}} VersionRow
 */

export class History {
  /**
   * @param {HTMLElement} root
   * @param {string} promptId
   */
  constructor(root, promptId) {
    this.promptId = promptId;
    this.list = one("[data-history-list]", root);
    this.note = one("[data-history-note]", root, HTMLElement);
    this.more = one("[data-history-more]", root, HTMLButtonElement);
    this.more.addEventListener("click", () => void this.#older());
    /** @type {VersionRow[]} */
    this.rows = [];
    /** @type {string | null} */
    this.next = null;
    this.current = 0;
  }

  /**
   * Reads the newest versions and marks the one that is open.
   * @param {number} current its number; 0 for none
   */
  async load(current) {
    this.current = current;
    try {
      const { results, next } = await call(`prompts/${this.promptId}/versions`);
      this.rows = results;
      this.next = next;
      this.#paint();
    } catch (error) {
      this.#say(`The history could not be read. ${/** @type {Error} */ (error).message}`);
    }
  }

  async #older() {
    if (!this.next) return;
    this.more.disabled = true;
    const page = await call(this.next).catch((error) => {
      this.#say(error.message);
      return { results: [], next: this.next };
    });
    this.rows.push(...page.results);
    this.next = page.next;
    this.more.disabled = false;
    this.#paint();
  }

  /** @param {string} text */
  #say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  #paint() {
    this.list.replaceChildren(...this.rows.map((row) => this.#row(row)));
    this.#say(this.rows.length === 0 ? "No version yet. Save makes the first." : "");
    this.more.hidden = !this.next;
  }

  /** @param {VersionRow} row */
  #row(row) {
    const item = fromTemplate("version");
    const link = one("[data-version-link]", item, HTMLAnchorElement);
    const message = one(".version-message", item);
    link.href = `/prompts/${this.promptId}/versions/${row.number}/`;
    if (row.number === this.current) link.setAttribute("aria-current", "true");
    one(".version-number", item).textContent = `v${row.number}`;
    message.textContent = row.message || "No message";
    message.classList.toggle("is-absent", !row.message);
    if (row.message) message.setAttribute("title", row.message);
    one("[data-version-author]", item).textContent = row.author ?? "someone";
    // Where it came from is worth a word only when that is not the line above.
    if (row.parent !== null && row.parent !== row.number - 1) one("[data-version-parent]", item).textContent = `from v${row.parent}`;
    const time = one("time", item, HTMLTimeElement);
    time.dateTime = row.created_at;
    paintTime(time);
    const chips = (row.branches ?? []).map((name) => el("span", { class: "chip is-accent" }, icon("git-branch"), el("span", { class: "truncate" }, name)));
    one("[data-version-heads]", item).replaceChildren(...chips);
    return item;
  }

  /** The branches seen so far, each with the number of its head. @returns {{name: string, head: number}[]} */
  get branches() {
    return this.rows.flatMap((row) => (row.branches ?? []).map((name) => ({ name, head: row.number })));
  }

  /**
   * The branch whose head a version is; "" if it is older than any head.
   * @param {number} number
   */
  branchAt(number) {
    const names = this.rows.find((row) => row.number === number)?.branches ?? [];
    return names.includes("main") ? "main" : (names[0] ?? "");
  }
}
