/* A batch that is looked at: how far it is, what can be done, its picture, its grid. */
import { address, ApiError, call } from "../api.js";
import { openDialog } from "../dialog.js";
import { el, one } from "../dom.js";
import { sayNext } from "../flash.js";
import { bindKey, noteKey } from "../keys.js";
import { canonical } from "../spec.js";
import { toast, toastError } from "../toast.js";
import { BatchGrid } from "./batch_grid.js";
import { paintBar, paintSummary } from "./batch_summary.js";
import { heldWords, progressFacts, retryWords, stateMark, stateWords } from "./batch_words.js";
import { Poll } from "./poll.js";

/** @typedef {import("./batch_words.js").Batch} Batch */

const SAID_EVERY_MS = 15_000;

export class BatchPage {
  /** @param {{promptId: string, batchId: string}} page */
  constructor(page) {
    this.promptId = page.promptId;
    this.path = `batches/${page.batchId}`;
    /** @type {Batch | null} */
    this.batch = null;
    /** @type {BatchGrid | null} */
    this.grid = null;
    this.saidAt = 0;
    this.cut = false;
    this.poll = new Poll(() => this.#ask(), (error) => this.#cut(error));
    for (const action of ["pause", "resume", "retry"]) one(`[data-batch-${action}]`).addEventListener("click", () => void this.#do(action));
    one("[data-batch-failed]").addEventListener("click", () => void this.#do("failed"));
    one("[data-batch-cancel]").addEventListener("click", () => openDialog(one("#cancel-batch", document, HTMLDialogElement)));
    this.#bindDialog("cancel-batch", () => this.#send("cancel"));
    this.#bindDialog("delete-batch", () => this.#delete());
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-download]"))) link.href = address(`${this.path}/${link.dataset.download}`);
    bindKey("f", "Filter rows", () => one("[data-filter-only]", document, HTMLElement).focus());
    bindKey("slash", "Search in cases and answers", () => one("[data-filter-text]", document, HTMLElement).focus());
    noteKey("enter", "Open the cell");
    noteKey("escape", "Close it");
    bindKey("p", "Pause or resume", () => void this.#toggle());
  }

  async open() {
    this.#show(await call(this.path));
    this.grid?.grid.focus();
    if (this.#moves) this.poll.start();
  }

  get #moves() {
    return this.batch?.state === "running" || (this.batch !== null && this.batch.counts.running + this.batch.counts.checking > 0);
  }

  async #ask() {
    const before = this.batch;
    this.#show(await call(this.path));
    this.cut = false;
    if (!this.#moves) return /** @type {const} */ ("over");
    return canonical(before?.counts) === canonical(this.batch?.counts) ? /** @type {const} */ ("same") : /** @type {const} */ ("changed");
  }

  /** @param {unknown} error */
  #cut(error) {
    if (!this.cut) toastError(error);
    this.cut = true;
  }

  /** @param {Batch} batch */
  #show(batch) {
    const before = this.batch;
    this.batch = batch;
    const moved = before === null || canonical([before.counts, before.state]) !== canonical([batch.counts, batch.state]);
    this.#paintState(batch);
    if (moved) {
      paintBar(one("[data-batch-bar]", document, HTMLElement), batch);
      paintSummary(one("[data-summary-cards]", document, HTMLElement), batch);
    }
    if (this.grid) this.grid.follow(batch, moved);
    else this.grid = new BatchGrid(one("[data-results]", document, HTMLElement), batch);
    this.#say(batch);
  }

  /** @param {Batch} batch */
  #paintState(batch) {
    const state = one("[data-batch-state]", document, HTMLElement);
    const words = stateWords(batch);
    state.dataset.state = stateMark(batch);
    if (state.textContent !== words) state.textContent = words;
    const facts = progressFacts(batch);
    one("[data-batch-facts]").replaceChildren(el("strong", {}, `${batch.ended.toLocaleString()} of ${batch.counts.total.toLocaleString()}`), ...facts.map(([number, word]) => el("span", {}, ...(number ? [el("b", {}, number), " "] : []), word)));
    const held = heldWords(batch);
    const place = one("[data-batch-held]", document, HTMLElement);
    place.hidden = held === "";
    place.classList.toggle("is-warn", batch.state !== "cancelled");
    one("[data-batch-held-words]").textContent = held;
    this.#paintActions(batch);
  }

  /** @param {Batch} batch */
  #paintActions({ state, can, counts, dataset }) {
    const retry = can.control ? retryWords(counts) : "";
    const shown = {
      pause: can.control && state === "running",
      resume: can.control && state === "paused",
      retry: retry !== "" && state === "finished",
      cancel: can.cancel && (state === "running" || state === "paused"),
      failed: can.control && state === "finished" && counts.failed > 0,
      delete: can.delete && state !== "running" && state !== "paused",
    };
    for (const [action, isShown] of Object.entries(shown)) one(`[data-batch-${action}]`, document, HTMLElement).hidden = !isShown;
    one("[data-retry-words]").textContent = retry;
    one("[data-failed-words]").textContent = `Run ${counts.failed.toLocaleString()} failed again`;
    const link = one("[data-batch-dataset]", document, HTMLAnchorElement);
    link.hidden = dataset === null;
    if (dataset) link.href = `/prompts/${this.promptId}/tests/${dataset.id}/`;
  }

  /** Progress for who listens: now and then, and at the end. @param {Batch} batch */
  #say(batch) {
    const isOver = !this.#moves;
    if (!isOver && Date.now() - this.saidAt < SAID_EVERY_MS) return;
    this.saidAt = Date.now();
    const words = `${stateWords(batch)}: ${batch.ended.toLocaleString()} of ${batch.counts.total.toLocaleString()}`;
    const place = one("[data-batch-said]");
    if (place.textContent !== words) place.textContent = words;
  }

  async #toggle() {
    const { state, can } = this.batch ?? {};
    if (can?.control && state === "running") await this.#do("pause");
    else if (can?.control && state === "paused") await this.#do("resume");
  }

  /** @param {string} action */
  async #do(action) {
    const button = one(`[data-batch-${action}]`);
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    await this.#send(action).catch((error) => {
      toastError(error);
      // What it says may be what this page did not know yet.
      this.poll.soon();
    });
    button.removeAttribute("aria-disabled");
  }

  /** @param {string} action */
  async #send(action) {
    const bodies = /** @type {Record<string, {}>} */ ({ retry: {}, failed: { statuses: ["failed"] } });
    const path = `${this.path}/${action === "failed" ? "retry" : action}`;
    this.#show(await call(path, { method: "POST", body: bodies[action] }));
    if (action === "pause") toast("Paused. Runs on their way are finished; no other is sent.");
    this.poll.soon();
  }

  async #delete() {
    await call(this.path, { method: "DELETE" });
    sayNext("The batch is deleted.");
    location.assign(`/prompts/${this.promptId}/tests/`);
  }

  /** @param {string} id @param {() => Promise<void>} action */
  #bindDialog(id, action) {
    const box = one(`#${id}`, document, HTMLDialogElement);
    const problem = one("[data-form-error]", box, HTMLElement);
    one("form", box).addEventListener("submit", (event) => {
      event.preventDefault();
      problem.hidden = true;
      action().then(
        () => box.close(),
        (error) => {
          problem.textContent = error instanceof ApiError ? error.sentence : "That did not work.";
          problem.hidden = false;
        },
      );
    });
  }
}
