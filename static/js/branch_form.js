/* The dialog for a new branch. */
import { ApiError, create, newKey } from "./api.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";

export class BranchForm {
  /**
   * @param {string} promptId
   * @param {(branch: {name: string, head: number}) => void} onMade
   */
  constructor(promptId, onMade) {
    this.promptId = promptId;
    this.onMade = onMade;
    this.dialog = one("#new-branch", document, HTMLDialogElement);
    this.form = one("form", this.dialog, HTMLFormElement);
    this.name = one("input", this.form, HTMLInputElement);
    this.problem = one("[data-branch-error]", this.form, HTMLElement);
    this.at = 0;
    this.key = newKey();
    this.busy = false;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
  }

  /** @param {number} at the version it starts from */
  open(at) {
    if (!at || document.querySelector("dialog[open]")) return;
    this.at = at;
    this.name.value = "";
    this.#say("");
    one("[data-branch-at]", this.form).textContent = `It starts at version ${at}. Versions saved on it leave every other branch as it is.`;
    openDialog(this.dialog);
  }

  /** @param {string} text */
  #say(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
    this.name.setAttribute("aria-invalid", String(!!text));
  }

  async #submit() {
    if (this.busy) return;
    this.busy = true;
    try {
      const branch = await create(`prompts/${this.promptId}/branches`, { name: this.name.value.trim(), at: this.at }, this.key);
      this.key = newKey();
      this.dialog.close();
      this.onMade(branch);
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      this.#say(error instanceof ApiError ? error.sentence : String(error));
      this.name.focus();
    }
    this.busy = false;
  }
}
