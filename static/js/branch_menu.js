/* The branch of the open version in the top bar, and a menu of the others. */
import { el, icon, one } from "./dom.js";

export class BranchMenu {
  /** @param {string} promptId */
  constructor(promptId) {
    this.promptId = promptId;
    this.button = one("[data-branch-button]", document, HTMLButtonElement);
    this.menu = one("[data-branches]", document, HTMLElement);
    this.menu.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState === "open") this.#place();
    });
  }

  /* Beneath its button; a position from script, because anchors are not known to every browser. */
  #place() {
    const box = this.button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, innerWidth - this.menu.offsetWidth - 8));
    this.menu.style.setProperty("left", `${left}px`);
    this.menu.style.setProperty("top", `${box.bottom + 4}px`);
    const first = this.menu.querySelector("a");
    if (first instanceof HTMLElement) first.focus();
  }

  /**
   * @param {string} current "" when the open version is older than every head
   * @param {{name: string, head: number}[]} branches
   */
  show(current, branches) {
    this.button.hidden = branches.length === 0;
    this.button.title = current ? `Branch ${current}` : "This version is not the head of a branch";
    one("[data-branch-name]", this.button).textContent = current || "earlier";
    const mainFirst = [...branches].sort((a, b) => Number(b.name === "main") - Number(a.name === "main"));
    const links = mainFirst.map(({ name, head }) => {
      const attributes = { class: "menu-item", href: `/prompts/${this.promptId}/versions/${head}/`, "aria-current": name === current && "true" };
      return el("a", attributes, icon("git-branch"), el("bdi", { class: "truncate" }, name), el("span", { class: "faint numeric" }, `v${head}`));
    });
    this.menu.replaceChildren(...links);
  }
}
