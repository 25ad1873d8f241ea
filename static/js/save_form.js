/* The save form: what changed, a message proposed, Enter saves. */
import { ApiError } from "./api.js";
import { differences, proposedMessage } from "./changes.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";

/** @typedef {import("./spec.js").Spec} Spec */

export class SaveForm {
  /**
   * @param {(message: string) => Promise<unknown>} save
   * @param {(error: unknown) => boolean} placeError shows an error in the editor, if it is about something there
   */
  constructor(save, placeError) {
    this.save = save;
    this.placeError = placeError;
    this.dialog = one("#save", document, HTMLDialogElement);
    this.form = one("[data-save-form]", this.dialog, HTMLFormElement);
    this.message = one("input[name=message]", this.form, HTMLInputElement);
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
   * @param {Spec | null} saved
   * @param {Spec} current
   */
  open(saved, current) {
    const parts = differences(saved, current);
    this.message.value = proposedMessage(saved, current);
    one("[data-save-changes]", this.form).textContent =
      parts.length === 0 ? "Nothing differs from the saved version." : `${parts.join("; ")}.`;
    this.#say("");
    openDialog(this.dialog);
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
