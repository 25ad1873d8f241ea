/* The branch of the open version in the top bar: a menu to switch, to merge another one in, to start one. */
import { mergePage, versionPage } from "./addresses.js";
import { el, icon, one } from "./dom.js";

/** @typedef {{name: string, head: number}} BranchHead */

export class BranchMenu {
  /**
   * @param {string} promptId
   * @param {(() => void) | null} onNew null for who may not change anything
   */
  constructor(promptId, onNew) {
    this.promptId = promptId;
    this.canChange = onNew !== null;
    this.button = one("[data-branch-button]", document, HTMLButtonElement);
    this.menu = one("[data-branches]", document, HTMLElement);
    this.list = one("[data-branch-list]", this.menu, HTMLElement);
    this.menu.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState === "open") this.#place();
    });
    this.menu.addEventListener("keydown", (event) => this.#walk(event));
    const start = one("[data-new-branch]", this.menu, HTMLElement);
    start.hidden = !this.canChange;
    start.addEventListener("click", () => {
      this.menu.hidePopover();
      onNew?.();
    });
  }

  /* Beneath its button; a position from script, because anchors are not known to every browser. */
  #place() {
    const box = this.button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, innerWidth - this.menu.offsetWidth - 8));
    this.menu.style.setProperty("left", `${left}px`);
    this.menu.style.setProperty("top", `${box.bottom + 4}px`);
    // Usually the branch's `autofocus` has done it at once; this event comes later, and keys may have moved on.
    if (this.menu.contains(document.activeElement)) return;
    const first = this.menu.querySelector("[aria-current]") ?? this.menu.querySelector("a, button");
    if (first instanceof HTMLElement) first.focus();
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stops = /** @type {HTMLElement[]} */ ([...this.menu.querySelectorAll("a.menu-item, button.menu-item")]);
    const here = stops.findIndex((stop) => stop === document.activeElement);
    stops[(here + step + stops.length) % stops.length]?.focus();
  }

  /**
   * @param {BranchHead} branch
   * @param {string} current
   * @param {import("./tree_model.js").TreeModel} model
   */
  #row({ name, head }, current, model) {
    const attributes = { class: "menu-item", href: versionPage(this.promptId, head, { branch: name }), "aria-current": name === current && "true", autofocus: name === current && "" };
    const link = el("a", attributes, icon("git-branch"), el("bdi", { class: "truncate" }, name), el("span", { class: "faint numeric" }, `v${head}`));
    const here = model.head(current);
    if (!this.canChange || name === current || here === undefined || model.isAncestor(head, here)) return el("div", { class: "menu-row" }, link);
    const words = `Merge ${name} into ${current}`;
    const merge = { class: "button button-quiet button-icon button-small", href: mergePage(this.promptId, current, name), "aria-label": words, title: words };
    return el("div", { class: "menu-row" }, link, el("a", merge, icon("git-merge")));
  }

  /**
   * @param {string} current
   * @param {number} number the open version
   * @param {import("./tree_model.js").TreeModel} model
   */
  show(current, number, model) {
    const head = model.head(current);
    const isHead = head === number;
    this.button.hidden = model.branches.length === 0;
    this.button.title = isHead ? `Branch ${current}: version ${number} is its newest` : `Branch ${current}: its newest version is ${head}`;
    one("[data-branch-name]", this.button).textContent = head === undefined ? "no branch" : current;
    const held = this.list.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    this.list.replaceChildren(...model.branches.map((branch) => this.#row(branch, current, model)));
    const again = held && [...this.list.querySelectorAll("a")].find((link) => link.getAttribute("href") === held);
    if (again) again.focus();
  }
}
