/* Giving up one's role on somebody else's prompt, asked first. */
import { ApiError } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";
import { sayProblem } from "./access_rows.js";
import { leavePrompt } from "./shares_api.js";

export class LeaveDialog {
  /** @param {(name: string) => void} onLeft */
  constructor(onLeft) {
    this.dialog = one("[data-leave-dialog]", document, HTMLDialogElement);
    this.prompt = "";
    this.name = "";
    const form = one("[data-leave-form]", this.dialog, HTMLFormElement);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await leavePrompt(this.prompt);
        onLeft(this.name);
      } catch (error) {
        sayProblem(form, error instanceof ApiError ? error : String(error));
      }
    });
  }

  /** @param {string} prompt @param {string} name */
  open(prompt, name) {
    this.prompt = prompt;
    this.name = name;
    one("[data-leave-name]", this.dialog).textContent = name;
    sayProblem(one("[data-leave-form]", this.dialog, HTMLFormElement), null);
    openDialog(this.dialog);
  }
}
