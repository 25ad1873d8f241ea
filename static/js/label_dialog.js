/* Labels of a version: which it has, putting or moving one here having seen what that replaces, taking one away. */
import { ApiError, call } from "./api.js";
import { DiffView } from "./diff_view.js";
import { openDialog } from "./dialog.js";
import { el, icon, one } from "./dom.js";
import { LabelHistory } from "./label_history.js";
import { toast, toastError } from "./toast.js";

/** @typedef {{name: string, version: number}} LabelPlace */

export class LabelDialog {
  /**
   * @param {string} promptId
   * @param {() => LabelPlace[]} labels as the tree knows them
   * @param {() => Promise<unknown>} reload
   */
  constructor(promptId, labels, reload) {
    this.promptId = promptId;
    this.labels = labels;
    this.reload = reload;
    this.dialog = one("#labels", document, HTMLDialogElement);
    this.form = one("form", this.dialog, HTMLFormElement);
    this.name = one("input[name=name]", this.form, HTMLInputElement);
    this.problem = one("[data-label-error]", this.form, HTMLElement);
    this.plan = one("[data-label-plan]", this.form, HTMLElement);
    this.button = one("[data-label-move]", this.form, HTMLButtonElement);
    this.history = new LabelHistory(one("[data-label-history]", this.form, HTMLElement), promptId);
    this.diff = new DiffView(one("[data-label-diff]", this.form, HTMLElement));
    this.number = 0;
    this.busy = false;
    this.name.addEventListener("input", () => this.#plan());
    one("[data-label-details]", this.form, HTMLDetailsElement).addEventListener("toggle", () => void this.#compare());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#move();
    });
  }

  /**
   * @param {number} number
   * @param {string} [name] the label to begin with
   */
  open(number, name = "") {
    if (!number || document.querySelector("dialog[open]")) return;
    this.number = number;
    this.name.value = name;
    one("[data-label-title]", this.dialog).textContent = `Labels of version ${number}`;
    this.#paint();
    openDialog(this.dialog);
  }

  #paint() {
    const here = this.labels().filter((label) => label.version === this.number);
    one("[data-label-here]", this.form).replaceChildren(...here.map((label) => this.#row(label)));
    one("[data-label-none]", this.form, HTMLElement).hidden = here.length > 0;
    one("datalist", this.form).replaceChildren(...this.labels().map(({ name, version }) => el("option", { value: name }, `version ${version}`)));
    this.#plan();
  }

  /** @param {LabelPlace} label */
  #row({ name }) {
    const words = `Remove ${name} from version ${this.number}`;
    const history = el("button", { class: "button button-quiet button-small", type: "button" }, icon("history"), "History");
    const remove = el("button", { class: "button button-quiet button-small", type: "button", "aria-label": words }, icon("x"), "Remove");
    history.addEventListener("click", () => void this.history.show(name));
    remove.addEventListener("click", () => void this.#remove(name));
    return el("li", { class: "label-row" }, icon("tag"), el("bdi", { class: "truncate" }, name), history, remove);
  }

  get #wanted() {
    return this.name.value.trim();
  }

  /** Where the label is now; null for nowhere. @returns {number | null} */
  get #from() {
    return this.labels().find((label) => label.name === this.#wanted)?.version ?? null;
  }

  /* Says what will happen, before it does. */
  #plan() {
    const [name, from] = [this.#wanted, this.#from];
    const moves = from !== null && from !== this.number;
    const details = one("[data-label-details]", this.form, HTMLDetailsElement);
    this.#say("");
    this.plan.textContent = !name ? "" : from === null ? `${name} is new and will point at version ${this.number}.` : moves ? `${name} moves from version ${from} to version ${this.number}. Whoever follows it gets version ${this.number} within seconds.` : `${name} is on this version already.`;
    this.button.textContent = moves ? "Move label" : "Add label";
    this.button.disabled = !name || from === this.number;
    details.hidden = !moves;
    details.open = false;
    this.history.hideUnless(name);
  }

  async #compare() {
    const from = this.#from;
    const details = one("[data-label-details]", this.form, HTMLDetailsElement);
    if (!details.open || from === null) return;
    await this.diff.fetch(() => call(`prompts/${this.promptId}/diff?from=${from}&to=${this.number}`));
  }

  /** @param {string} text */
  #say(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  /** @param {string} name */
  #path(name) {
    return `prompts/${this.promptId}/labels/${encodeURIComponent(name)}`;
  }

  async #move() {
    const [name, from] = [this.#wanted, this.#from];
    if (this.busy || !name) return;
    this.busy = true;
    try {
      await call(this.#path(name), { method: "PUT", body: { version: this.number, expected: from } });
      await this.reload();
      this.dialog.close();
      toast(from === null ? `${name} points at version ${this.number}` : `${name} moved from version ${from} to version ${this.number}`);
    } catch (error) {
      await this.#failed(error);
    }
    this.busy = false;
  }

  /** @param {unknown} error */
  async #failed(error) {
    const moved = error instanceof ApiError && error.code === "label_moved";
    if (moved) {
      await this.reload();
      this.#paint();
    }
    this.#say(error instanceof ApiError ? error.sentence : String(error));
  }

  /** @param {string} name */
  async #remove(name) {
    try {
      await call(this.#path(name), { method: "DELETE" });
      await this.reload();
      this.#paint();
      this.name.focus();
      toast(`${name} is removed. Its history stays.`);
    } catch (error) {
      toastError(error);
    }
  }
}
