/* Values of past runs as test cases: each different set once, taken one by one. */
import { ApiError, call } from "../api.js";
import { openDialog } from "../dialog.js";
import { el, one } from "../dom.js";
import { sizeWords } from "../large/sizes.js";
import { timeElement } from "../time.js";
import { toastError } from "../toast.js";

/** @typedef {import("./case_sheet.js").Case} Case */
/** @typedef {{run: string, version: number, status: string, created_at: string, bytes: number, values: Record<string, string> | null}} PastValues */

const SHOWN = 160;

export class PastRuns {
  /**
   * @param {string} promptId
   * @param {(row: Case) => void} onTake
   */
  constructor(promptId, onTake) {
    this.promptId = promptId;
    this.onTake = onTake;
    this.dialog = one("#past-runs", document, HTMLDialogElement);
    this.list = one("[data-past-list]", this.dialog);
    this.said = one("[data-past-said]", this.dialog);
    this.answers = one("[data-past-answer]", this.dialog, HTMLInputElement);
  }

  async open() {
    this.said.textContent = "";
    this.list.replaceChildren(el("li", { class: "soft" }, "Loading…"));
    openDialog(this.dialog);
    try {
      const { results } = await call(`prompts/${this.promptId}/values`);
      const none = el("li", { class: "soft" }, "You have not run this prompt yet. Run it once in the workbench, and its values are offered here.");
      this.list.replaceChildren(...(results.length > 0 ? results.map((/** @type {PastValues} */ past) => this.#item(past)) : [none]));
    } catch (error) {
      this.list.replaceChildren(el("li", { class: "field-error" }, error instanceof ApiError ? error.sentence : "They cannot be shown."));
    }
  }

  /** @param {PastValues} past */
  #item(past) {
    const values = past.values ? Object.entries(past.values) : [];
    const shown = values.flatMap(([name, value]) => [el("dt", { class: "mono" }, name), el("dd", { dir: "auto" }, value === "" ? "empty text" : value.slice(0, SHOWN))]);
    const facts = past.values ? el("dl", { class: "past-values" }, ...shown) : el("p", { class: "soft" }, `${sizeWords(past.bytes)} of values`);
    const take = el("button", { class: "button button-small", type: "button" }, "Take");
    take.addEventListener("click", () => void this.#take(past, take));
    return el("li", { class: "past-run" }, el("div", { class: "past-run-main" }, facts, el("p", { class: "faint" }, `v${past.version}, `, timeElement(past.created_at))), take);
  }

  /** @param {PastValues} past @param {HTMLButtonElement} button */
  async #take(past, button) {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    try {
      const values = past.values ?? (await call(`prompts/${this.promptId}/values/${past.run}`)).values;
      const expected = this.answers.checked ? (await call(`runs/${past.run}`)).output || null : null;
      this.onTake({ values, expected });
      button.textContent = "Taken";
      this.said.textContent = "Added as the last row.";
    } catch (error) {
      button.removeAttribute("aria-disabled");
      toastError(error);
    }
  }
}
