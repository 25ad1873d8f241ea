/* The menu of the open prompt: copy a version into a new prompt, export, where it is kept. */
import { columnsPage } from "../addresses.js";
import { call, create, newKey } from "../api.js";
import { el, one } from "../dom.js";
import { sayNext } from "../flash.js";
import { toast, toastError } from "../toast.js";
import { PromptForms } from "./forms.js";
import { doneWords, doToEach, rowOf, tagsOf } from "./prompts.js";
import { moveInMenu, place } from "./row_menu.js";

/** @typedef {import("./prompts.js").Row} Row */
/** @typedef {{path: string, children: Folder[]}} Folder */

/** @param {Folder[]} folders @returns {string[]} */
function paths(folders) {
  return folders.flatMap(({ path, children }) => [path, ...paths(children)]);
}

class PromptMenu {
  /** @param {() => number} version the number of the open version */
  constructor(version) {
    this.version = version;
    this.menu = one("[data-prompt-menu]", document, HTMLElement);
    this.button = one("[data-prompt-menu-button]", document, HTMLElement);
    this.forms = new PromptForms((action, rows, values) => this.#act(action, rows, values));
    this.forkKey = newKey();
    this.button.addEventListener("click", () => this.#open());
    this.menu.addEventListener("keydown", (event) => moveInMenu(this.menu, event));
    this.menu.addEventListener("click", (event) => {
      const action = /** @type {Element} */ (event.target).closest("button")?.value;
      this.menu.hidePopover();
      this.button.focus();
      if (action) this.start(action);
    });
  }

  #open() {
    const fork = one("[value=fork]", this.menu, HTMLButtonElement);
    fork.disabled = this.version() === 0;
    this.menu.showPopover();
    place(this.menu, this.button);
    one("[role=menuitem]:not(:disabled)", this.menu, HTMLElement).focus();
  }

  /** @param {string} action */
  start(action) {
    const row = rowOf(this.menu);
    if (action === "export") {
      location.assign(`/api/v1/prompts/${row.id}/export`);
    } else if (action === "columns") {
      location.assign(columnsPage(row.id, { versions: this.version() ? [this.version()] : [] }));
    } else if (action === "leave") {
      // Heard by what knows of sharing.
      this.menu.dispatchEvent(new CustomEvent("leave", { detail: row }));
    } else if (this.forms.asks(action)) {
      this.forms.open(action, [row]);
      one("[data-fork-words]").textContent = `Version ${this.version()} becomes the first version of a prompt of its own. What is not saved stays here.`;
      if (action === "move") void this.#offerFolders();
    } else {
      this.#leave(action, row).catch(toastError);
    }
  }

  async #offerFolders() {
    const { results } = await call("folders").catch(() => ({ results: [] }));
    one("[data-known-folders]").replaceChildren(...paths(results).map((value) => el("option", { value })));
  }

  /** @param {string} action @param {Row} row */
  async #leave(action, row) {
    await doToEach(action, [row]);
    if (action === "restore") {
      toast(doneWords(action, [row]));
      return;
    }
    sayNext(doneWords(action, [row]));
    location.assign("/");
  }

  /** @param {string} action @param {Row[]} rows @param {Record<string, any>} values */
  async #act(action, rows, values) {
    if (action === "fork") {
      await this.#fork(rows[0], values.name);
      return;
    }
    await doToEach(action, rows, values);
    if (action === "move") this.menu.dataset.folder = values.folder;
    if (action === "tags") {
      for (const tag of this.menu.querySelectorAll("data[data-tag]")) tag.remove();
      this.menu.append(...tagsOf(values.tags).map((value) => el("data", { hidden: true, "data-tag": true, value })));
    }
    toast(doneWords(action, rows));
  }

  /** @param {Row} row @param {string} name */
  async #fork(row, name) {
    const { prompt } = await create(`prompts/${row.id}/versions/${this.version()}/fork`, { name }, this.forkKey);
    sayNext(`Version ${this.version()} of ${row.name} is version 1 of this prompt.`);
    location.assign(`/prompts/${prompt.id}/`);
  }
}

/** @param {() => number} version */
export function bindPromptMenu(version) {
  return new PromptMenu(version);
}
