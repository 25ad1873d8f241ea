/* The save form: the difference open to see, a message proposed, Enter saves. */
import { ApiError, call } from "./api.js";
import { differences, proposedMessage } from "./changes.js";
import { CompareProgress } from "./compare_progress.js";
import { DiffView } from "./diff_view.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";
import { isUnsent, textsOf } from "./large/references.js";

/** @typedef {import("./spec.js").Spec} Spec */
/** @typedef {{current: () => Spec, send: (watch: import("./large/text_slot.js").Watch) => Promise<void>}} Editor */

export class SaveForm {
  /**
   * @param {string} promptId
   * @param {Editor} editor what is compared; its large texts are sent first
   * @param {(message: string) => Promise<unknown>} save
   * @param {(error: unknown) => boolean} placeError shows an error in the editor, if it is about something there
   */
  constructor(promptId, editor, save, placeError) {
    this.promptId = promptId;
    this.editor = editor;
    this.save = save;
    this.placeError = placeError;
    this.dialog = one("#save", document, HTMLDialogElement);
    this.form = one("[data-save-form]", this.dialog, HTMLFormElement);
    this.message = one("input[name=message]", this.form, HTMLInputElement);
    this.diffBox = one("[data-save-diff]", this.form, HTMLElement);
    this.diff = new DiffView(this.diffBox);
    this.progress = new CompareProgress(one("[data-save-progress]", this.form, HTMLElement));
    /** Ends the comparison that nobody waits for any more. What is on its way to the store goes on. */
    this.stop = new AbortController();
    this.dialog.addEventListener("close", () => this.stop.abort());
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
    this.stop.abort();
    this.stop = new AbortController();
    this.progress.end();
    openDialog(this.dialog);
    if (number && parts.length > 0) void this.#compare(number, current, this.stop.signal);
  }

  /** @param {string} text */
  #note(text) {
    const note = one("[data-save-changes]", this.form, HTMLElement);
    note.textContent = text;
    note.hidden = !text;
  }

  /*
   * The words are there at once; the difference takes their place as soon as the server has found it. It is found from
   * what a save would send anyway, so a large text goes out now and is part of the save later.
   */
  async #compare(/** @type {number} */ number, /** @type {Spec} */ current, /** @type {AbortSignal} */ signal) {
    try {
      if (textsOf(current).some(isUnsent)) {
        await this.editor.send((part, done, bytes) => !signal.aborted && this.progress.sending(part, done, bytes));
      }
      if (signal.aborted) return;
      this.progress.comparing();
      const body = { from: String(number), spec: this.editor.current() };
      const diff = await call(`prompts/${this.promptId}/diff`, { method: "POST", body, signal });
      if (signal.aborted) return;
      this.progress.end();
      this.diff.show(diff);
      this.diffBox.hidden = false;
      this.#note(diff.equal ? "Nothing differs from the saved version." : "");
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof ApiError ? error.sentence : /** @type {Error} */ (error).message;
      this.progress.fail(`The difference cannot be shown. ${why}`);
    }
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
