/* Asks before access is taken away, says how soon that holds, and afterwards when it took effect. */
import { ApiError } from "../api.js";
import { openDialog } from "../dialog.js";
import { el, icon, one } from "../dom.js";

/** @typedef {{title: string, words: string, confirm: string, after: string, act: () => Promise<any>, done: () => void}} Revocation */

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

export class RevokeDialog {
  constructor() {
    this.dialog = one("[data-revoke-access]", document, HTMLDialogElement);
    this.confirm = one("[data-revoke-confirm]", this.dialog, HTMLButtonElement);
    this.cancel = one("[data-revoke-cancel]", this.dialog, HTMLButtonElement);
    /** @type {Revocation | null} */
    this.asked = null;
    this.busy = false;
    one("[data-revoke-form]", this.dialog, HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.dialog.addEventListener("close", () => this.#closed());
  }

  /** @param {Revocation} asked */
  ask(asked) {
    this.asked = asked;
    this.over = false;
    one("[data-revoke-title]", this.dialog).textContent = asked.title;
    one("[data-revoke-words]", this.dialog).textContent = asked.words;
    this.confirm.textContent = asked.confirm;
    this.#paint();
    this.#say("");
    openDialog(this.dialog);
    this.cancel.focus();
  }

  #paint() {
    one("[data-revoke-ask]", this.dialog, HTMLElement).hidden = this.over === true;
    one("[data-revoke-done]", this.dialog, HTMLElement).hidden = this.over !== true;
    this.confirm.hidden = this.over === true;
    this.cancel.textContent = this.over ? "Done" : "Keep it";
  }

  /** @param {string} text */
  #say(text) {
    const problem = one("[data-revoke-error]", this.dialog, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
  }

  async #act() {
    if (this.busy || !this.asked) return;
    this.busy = true;
    this.#say("");
    try {
      const answer = await this.asked.act();
      this.over = true;
      // An address that was shown once may be the one that just ended.
      for (const shown of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-new-link]"))) shown.hidden = true;
      one("[data-revoke-title]", this.dialog).textContent = this.asked.after;
      this.#paint();
      const moment = answer?.revoked_at ? new Date(answer.revoked_at) : new Date();
      const words = one("[data-revoke-moment]", this.dialog, HTMLElement);
      words.replaceChildren(icon("circle-check"), el("span", { class: "notice-text" }, `Took effect at ${moments.format(moment)}.`));
      words.focus();
    } catch (error) {
      this.#say(error instanceof ApiError ? error.sentence : String(error));
    }
    this.busy = false;
  }

  #closed() {
    if (this.over) this.asked?.done();
    this.asked = null;
  }
}
