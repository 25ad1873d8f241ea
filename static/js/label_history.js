/* Who moved a label, from where to where, and when. */
import { call } from "./api.js";
import { el, one } from "./dom.js";
import { timeElement } from "./time.js";

/** @typedef {{actor: string | null, from_version: number | null, to_version: number | null, created_at: string}} Move */

/** @param {number | null} number */
const place = (number) => (number === null ? "nowhere" : `v${number}`);

export class LabelHistory {
  /**
   * @param {HTMLElement} root
   * @param {string} promptId
   */
  constructor(root, promptId) {
    this.root = root;
    this.promptId = promptId;
    this.rows = one("tbody", root, HTMLElement);
    this.more = one("[data-label-older]", root, HTMLButtonElement);
    this.name = "";
    /** @type {string | null} */
    this.next = null;
    this.more.addEventListener("click", () => void this.#read(this.next ?? ""));
  }

  /** @param {string} name */
  async show(name) {
    this.name = name;
    this.rows.replaceChildren();
    one("[data-label-history-title]", this.root).textContent = `History of ${name}`;
    await this.#read(`prompts/${this.promptId}/labels/${encodeURIComponent(name)}/history`);
    this.root.hidden = false;
  }

  /** A history that is open stays only while it is about the label in question. @param {string} name */
  hideUnless(name) {
    if (name && name !== this.name) this.root.hidden = true;
  }

  /** @param {string} path */
  async #read(path) {
    const { results, next } = await call(path).catch(() => ({ results: [], next: null }));
    this.rows.append(...results.map((/** @type {Move} */ move) => this.#row(move)));
    this.next = next;
    this.more.hidden = !next;
  }

  /** @param {Move} move */
  #row({ actor, from_version: from, to_version: to, created_at: at }) {
    return el("tr", {}, el("td", {}, el("bdi", {}, actor ?? "someone")), el("td", {}, place(from)), el("td", {}, place(to)), el("td", {}, timeElement(at)));
  }
}
