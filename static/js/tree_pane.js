/* The history pane: the tree, what to do with its active version, and where the reader was after a page change. */
import { call } from "./api.js";
import { one } from "./dom.js";
import { TreeModel } from "./tree_model.js";
import { TreeView } from "./tree_view.js";

const STORE = "tree";
const FRESH_MS = 3000;

export class TreePane {
  /**
   * @param {HTMLElement} root
   * @param {string} promptId
   * @param {{onOpen: (number: number, event?: MouseEvent) => void, onLabel: (number: number) => void, onLoad: () => void, onActive: () => void}} parent
   */
  constructor(root, promptId, parent) {
    this.promptId = promptId;
    this.parent = parent;
    this.note = one("[data-history-note]", root, HTMLElement);
    this.count = one("[data-tree-count]", root, HTMLElement);
    this.list = one("[data-tree]", root, HTMLElement);
    this.view = new TreeView(this.list, parent.onActive);
    this.readAt = 0;
    this.asked = 0;
    this.latest = Promise.resolve();
    this.current = 0;
    this.list.addEventListener("click", (event) => this.#clicked(event));
    this.list.addEventListener("auxclick", (event) => event.button === 1 && this.#clicked(event));
    window.addEventListener("pagehide", () => this.#remember());
    window.addEventListener("focus", () => void this.#refresh());
    document.addEventListener("visibilitychange", () => document.hidden || void this.#refresh());
  }

  get model() {
    return this.view.model;
  }

  /** @param {number} current the open version; 0 for none */
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
      const [answer, drafts] = await Promise.all([call(`prompts/${this.promptId}/tree`), this.#drafts()]);
      // What was asked for later is newer.
      if (asked !== this.asked) {
        await this.latest;
        return;
      }
      const isFirst = this.model.nodes.length === 0;
      this.view.show(new TreeModel({ ...answer, drafts }), this.current);
      if (isFirst) this.#recall();
      const { length } = answer.nodes;
      this.count.textContent = length > 0 ? length.toLocaleString() : "";
      this.#say(length === 0 ? "No version yet. Save makes the first." : "");
      this.parent.onLoad();
    } catch (error) {
      this.#say(`The history could not be read. ${/** @type {Error} */ (error).message}`);
    }
  }

  /* Versions with unsaved text of mine. That of the open one is said in the top bar, and truer there. */
  async #drafts() {
    const { results } = await call(`prompts/${this.promptId}/drafts`).catch(() => ({ results: [] }));
    return results.map((/** @type {{base: number | null}} */ { base }) => base ?? 0).filter((/** @type {number} */ base) => base !== this.current);
  }

  /* Somebody may have saved while another window was in front. */
  async #refresh() {
    if (Date.now() - this.readAt > FRESH_MS && this.model.nodes.length > 0) await this.load(this.current);
  }

  /** @param {string} text */
  #say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest("[data-number]");
    const number = Number(row?.getAttribute("data-number"));
    if (!number) return;
    if (event.shiftKey) {
      getSelection()?.removeAllRanges();
      this.view.toggleMark(number);
    } else if (target.closest("[data-label]")) {
      this.view.goTo(number);
      this.parent.onLabel(number);
    } else {
      this.parent.onOpen(number, event);
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

  #recall() {
    let kept = { prompt: "", top: 0, focus: false };
    try {
      kept = JSON.parse(sessionStorage.getItem(STORE) ?? "{}");
    } catch {
      // As above.
    }
    if (kept.prompt === this.promptId) this.list.scrollTop = kept.top;
    else this.view.centre();
    this.view.goTo(this.current || undefined);
    if (kept.prompt === this.promptId && kept.focus && document.activeElement === document.body) this.list.focus({ preventScroll: true });
  }
}
