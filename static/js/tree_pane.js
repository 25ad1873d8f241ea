/* The history pane: the tree, what to do with its active version, and where the reader was after a page change. */
import { call } from "./api.js";
import { one } from "./dom.js";
import { TreeModel } from "./tree_model.js";
import { TreeView } from "./tree_view.js";

const STORE = "tree";
const FRESH_MS = 3000;

/** @typedef {{onOpen: (number: number, event?: MouseEvent) => void, onLabel: (number: number) => void, onLoad: () => void, onActive: () => void}} Desk what is done about the tree */
/** @typedef {{promptId: string, number: number, tree: import("./tree_model.js").TreeAnswer}} Carried by the page: the open version (0 for none), the rows around it */

export class TreePane {
  /** @type {(desk: Desk) => void} */
  #serve = () => {};

  /**
   * Draws what the page carries, then reads the rest.
   * @param {HTMLElement} root
   * @param {Carried} carried
   */
  constructor(root, { promptId, number, tree }) {
    this.promptId = promptId;
    this.note = one("[data-history-note]", root, HTMLElement);
    this.count = one("[data-tree-count]", root, HTMLElement);
    this.list = one("[data-tree]", root, HTMLElement);
    /** Comes later than the first rows. @type {Promise<Desk>} */
    this.desk = new Promise((resolve) => {
      this.#serve = resolve;
    });
    this.view = new TreeView(this.list, () => void this.desk.then((desk) => desk.onActive()));
    this.current = number;
    this.readAt = Date.now();
    this.asked = 0;
    const { top, focus } = this.#recall();
    this.view.open(new TreeModel(tree), number, top);
    if (focus && document.activeElement === document.body) this.list.focus({ preventScroll: true });
    this.#told();
    /** The newest reading of the tree. @type {Promise<void>} */
    this.latest = this.model.isWhole ? Promise.resolve() : this.load(number);
    this.list.addEventListener("click", (event) => void this.#clicked(event));
    this.list.addEventListener("auxclick", (event) => event.button === 1 && void this.#clicked(event));
    window.addEventListener("pagehide", () => this.#remember());
    window.addEventListener("focus", () => void this.#refresh());
    document.addEventListener("visibilitychange", () => document.hidden || void this.#refresh());
  }

  get model() {
    return this.view.model;
  }

  /** @param {Desk} desk */
  serve(desk) {
    this.#serve(desk);
  }

  /**
   * @param {number} current the open version; 0 for none
   * @returns {Promise<void>}
   */
  load(current) {
    this.current = current;
    this.readAt = Date.now();
    this.asked += 1;
    this.latest = this.#read(this.asked);
    return this.latest;
  }

  /** @param {number} asked */
  async #read(asked) {
    try {
      const [answer, drafts] = await Promise.all([call(`prompts/${this.promptId}/tree/columns`), this.#drafts()]);
      // What was asked for later is newer.
      if (asked !== this.asked) {
        await this.latest;
        return;
      }
      this.view.show(new TreeModel({ ...answer, drafts }), this.current);
      this.#told();
      (await this.desk).onLoad();
    } catch (error) {
      this.#say(`The history could not be read. ${/** @type {Error} */ (error).message}`);
    }
  }

  #told() {
    const { count } = this.model;
    this.count.textContent = count > 0 ? count.toLocaleString() : "";
    this.#say(count === 0 ? "No version yet. Save makes the first." : "");
  }

  /* Versions with unsaved text of mine. That of the open one is said in the top bar, and truer there. */
  async #drafts() {
    const { results } = await call(`prompts/${this.promptId}/drafts`).catch(() => ({ results: [] }));
    return results.map((/** @type {{base: number | null}} */ { base }) => base ?? 0).filter((/** @type {number} */ base) => base !== this.current);
  }

  /* Somebody may have saved while another window was in front. */
  async #refresh() {
    if (Date.now() - this.readAt > FRESH_MS && this.model.count > 0) await this.load(this.current);
  }

  /** @param {string} text */
  #say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest("[data-number]");
    const number = Number(row?.getAttribute("data-number"));
    if (!number) return;
    if (event.shiftKey) {
      getSelection()?.removeAllRanges();
      this.view.toggleMark(number);
    } else if (target.closest("[data-label]")) {
      this.view.goTo(number);
      (await this.desk).onLabel(number);
    } else {
      (await this.desk).onOpen(number, event);
    }
  }

  /* Opening a version is a page change: the tree stays where it was, and keeps the focus if it had it. */
  #remember() {
    const kept = { prompt: this.promptId, top: this.list.scrollTop, focus: document.activeElement === this.list };
    try {
      sessionStorage.setItem(STORE, JSON.stringify(kept));
    } catch {
      // Then the tree opens in the middle.
    }
  }

  /** @returns {{top?: number, focus?: boolean}} how the list was when a version of this prompt was opened from it */
  #recall() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(STORE) ?? "{}");
      return kept.prompt === this.promptId ? kept : {};
    } catch {
      return {};
    }
  }
}
