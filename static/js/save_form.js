/* The save form: the difference open to see, a message proposed, Enter saves. */
import { ApiError, call } from "./api.js";
import { differences, proposedMessage } from "./changes.js";
import { DiffView } from "./diff_view.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";
import { isUnsent, textsOf } from "./large/references.js";

/** @typedef {import("./spec.js").Spec} Spec */

export class SaveForm {
  /**
   * @param {string} promptId
   * @param {(message: string) => Promise<unknown>} save
   * @param {(error: unknown) => boolean} placeError shows an error in the editor, if it is about something there
   */
  constructor(promptId, save, placeError) {
    this.promptId = promptId;
    this.save = save;
    this.placeError = placeError;
    this.dialog = one("#save", document, HTMLDialogElement);
    this.form = one("[data-save-form]", this.dialog, HTMLFormElement);
    this.message = one("input[name=message]", this.form, HTMLInputElement);
    this.diffBox = one("[data-save-diff]", this.form, HTMLElement);
    this.diff = new DiffView(this.diffBox);
    this.busy = false;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    // Enter that only ends a composition is no wish to save.
    this.message.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.preventDefault();
    });
  }

  /**
   * @param {number} number of the version that is open; 0 before the first
   * @param {Spec | null} saved what it holds
   * @param {Spec} current
   */
  open(number, saved, current) {
    const parts = differences(saved, current);
    this.message.value = proposedMessage(saved, current);
    this.#note(parts.length === 0 ? "Nothing differs from the saved version." : `${parts.join("; ")}.`);
    this.diffBox.hidden = true;
    this.#say("");
    openDialog(this.dialog);
    // A large text that is not sent yet cannot be compared by the server; the words have to do.
    const isSent = !textsOf(current).some(isUnsent);
    if (number && parts.length > 0 && isSent) void this.#compare(number, current);
  }

  /** @param {string} text */
  #note(text) {
    const note = one("[data-save-changes]", this.form, HTMLElement);
    note.textContent = text;
    note.hidden = !text;
  }

  /* The words are there at once; the difference takes their place as soon as the server has found it. */
  async #compare(/** @type {number} */ number, /** @type {Spec} */ current) {
    const body = { from: String(number), spec: current };
    const diff = await this.diff.fetch(() => call(`prompts/${this.promptId}/diff`, { method: "POST", body }));
    this.diffBox.hidden = !diff;
    if (diff) this.#note(diff.equal ? "Nothing differs from the saved version." : "");
  }

  /** @param {string} text */
  #say(text) {
    const problem = one("[data-save-error]", this.form, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
  }

  /** @param {Error} error */
  #failed(error) {
    this.dialog.close();
    if (this.placeError(error)) return;
    this.#say(error instanceof ApiError ? error.sentence : error.message);
    openDialog(this.dialog);
  }

  async #submit() {
    if (this.busy) return;
    this.busy = true;
    try {
      await this.save(this.message.value);
      this.dialog.close();
    } catch (error) {
      this.#failed(/** @type {Error} */ (error));
    }
    this.busy = false;
  }
}
