/* The dialogs of the list: rename, move, tags, erase. Each asks, and calls back with what was written. */
import { ApiError } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";

/** @typedef {import("./prompts.js").Row} Row */

export class PromptForms {
  /** @param {(action: string, rows: Row[], values: Record<string, any>) => Promise<void>} act */
  constructor(act) {
    this.act = act;
    /** @type {Row[]} */
    this.rows = [];
    this.busy = false;
    for (const form of document.querySelectorAll("[data-prompt-form]")) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        void this.#submit(/** @type {HTMLFormElement} */ (form));
      });
    }
  }

  /** @param {string} action @returns {boolean} whether it asks anything */
  asks(action) {
    return this.#form(action) !== null;
  }

  /** @param {string} action @returns {HTMLFormElement | null} */
  #form(action) {
    return document.querySelector(`[data-prompt-form="${action}"]`);
  }

  /**
   * @param {string} action
   * @param {Row[]} rows
   */
  open(action, rows) {
    const form = /** @type {HTMLFormElement} */ (this.#form(action));
    const [first] = rows;
    this.rows = rows;
    const names = /** @type {Record<string, string>} */ ({ erase: "", fork: `Copy of ${first.name}`.slice(0, 200) });
    const folder = rows.length === 1 ? first.folder : "";
    const filled = /** @type {Record<string, string>} */ ({ ...first, name: names[action] ?? first.name, folder, tags: first.tags.join(", "), tag: "" });
    for (const field of form.querySelectorAll("input")) {
      if (field.type === "checkbox") field.checked = false;
      else field.value = filled[field.name] ?? "";
    }
    const name = form.querySelector("[data-erase-name]");
    if (name) name.textContent = first.name;
    this.#say(form, "");
    openDialog(/** @type {HTMLDialogElement} */ (form.closest("dialog")));
  }

  /** @param {HTMLFormElement} form @param {string} text */
  #say(form, text) {
    const problem = one("[data-form-error]", form, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
  }

  /** @param {HTMLFormElement} form */
  async #submit(form) {
    if (this.busy) return;
    const action = form.dataset.promptForm ?? "";
    const values = Object.fromEntries(new FormData(form));
    if (action === "erase" && values.name !== this.rows[0].name) {
      this.#say(form, "This is not its name. Nothing was erased.");
      return;
    }
    this.busy = true;
    try {
      await this.act(action, this.rows, values);
      form.closest("dialog")?.close();
    } catch (error) {
      this.#say(form, error instanceof ApiError ? error.sentence : /** @type {Error} */ (error).message);
    }
    this.busy = false;
  }
}
