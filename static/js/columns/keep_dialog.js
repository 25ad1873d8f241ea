/* Keeping a column: its version with its model and parameters becomes a new version, the child of that version. */
import { ApiError, call, create, newKey } from "../api.js";
import { proposedMessage } from "../changes.js";
import { openDialog } from "../dialog.js";
import { fieldTable } from "../diff_fields.js";
import { one } from "../dom.js";

/** @typedef {import("./column.js").ColumnView} ColumnView */
/** @typedef {{id: string, number: number, branch: string, forked: boolean}} Saved */

const MAIN = "main";

/**
 * The branch that goes on at a version, main before others; main where none does: the save then starts one beside it.
 * @param {{name: string, head: number}[]} branches
 * @param {number} number
 */
export function branchAt(branches, number) {
  const here = branches.filter(({ head }) => head === number).map(({ name }) => name);
  return here.includes(MAIN) ? MAIN : (here[0] ?? MAIN);
}

export class KeepDialog {
  /**
   * @param {string} promptId
   * @param {(column: ColumnView, saved: Saved) => void} onSaved
   */
  constructor(promptId, onSaved) {
    this.promptId = promptId;
    this.onSaved = onSaved;
    this.dialog = one("#keep-column", document, HTMLDialogElement);
    this.form = one("[data-keep-form]", this.dialog, HTMLFormElement);
    this.message = one("[data-keep-message]", this.form, HTMLInputElement);
    this.key = newKey();
    this.busy = false;
    /** @type {ColumnView | null} */
    this.column = null;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.preventDefault();
    });
  }

  /** @param {ColumnView} column */
  open(column) {
    const { version, spec, changes } = column;
    if (!version || !spec || changes.length === 0 || document.querySelector("dialog[open]")) return;
    this.column = column;
    this.key = newKey();
    this.message.value = proposedMessage(version.spec, spec);
    one("[data-keep-words]", this.form).textContent = `A new version follows version ${version.number}. Its texts are the same; these parameters are not.`;
    one("[data-keep-fields]", this.form).replaceChildren(fieldTable(changes));
    this.#say("");
    openDialog(this.dialog);
  }

  /** @param {string} message */
  #say(message) {
    const problem = one("[data-keep-error]", this.form, HTMLElement);
    problem.textContent = message;
    problem.hidden = !message;
  }

  async #submit() {
    const { column } = this;
    if (this.busy || !column?.version || !column.spec) return;
    this.busy = true;
    try {
      const { number } = column.version;
      const { results } = await call(`prompts/${this.promptId}/branches`);
      const body = { spec: column.spec, parent: number, branch: branchAt(results, number), message: this.message.value };
      const saved = await create(`prompts/${this.promptId}/versions`, body, this.key);
      this.dialog.close();
      this.onSaved(column, saved);
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      this.#say(error instanceof ApiError ? error.sentence : String(error));
    }
    this.busy = false;
  }
}
