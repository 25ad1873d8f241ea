/*
 * Sends edits of test cases to the server: after a pause, one request at a time, in order, until it has them. Another
 * person's edits are never written over: the server counts revisions, and one that is not ours stops this here.
 */
import { ApiError, call } from "../api.js";
import { applyEdit, sameCases } from "./case_sheet.js";

/** @typedef {import("./case_sheet.js").Case} Case */
/** @typedef {import("./case_sheet.js").Edit} Edit */
/** @typedef {{kind: "saved" | "waiting" | "saving" | "failed" | "changed" | "refused", message: string}} KeeperState */
/** @typedef {{rows: () => Case[], columns: () => string[], onState: (state: KeeperState) => void}} Owner */

const QUIET_MS = 500;
const AGAIN_MS = [1000, 2000, 5000, 15_000, 30_000];
const MOST_EDITS = 1000;
const PAGE = 500;

/**
 * All rows of a small set of test cases.
 * @param {string} id
 * @returns {Promise<{revision: number, columns: string[], rows: Case[]}>}
 */
export async function fetchCases(id) {
  /** @type {Case[]} */
  const rows = [];
  for (;;) {
    const { count, revision, columns, results } = await call(`datasets/${id}/rows?offset=${rows.length}&limit=${PAGE}`);
    rows.push(...results.map((/** @type {Case} */ { values, expected }) => ({ values, expected })));
    if (rows.length >= count || results.length === 0) return { revision, columns, rows };
  }
}

/**
 * @param {Edit} edit
 * @param {string[]} columns
 * @returns {Edit} as the server takes it: what is not given is named, for values are merged there
 */
export function sentEdit(edit, columns) {
  if (edit.op !== "set") return edit;
  return { ...edit, values: Object.fromEntries(columns.map((name) => [name, edit.values[name] ?? null])) };
}

export class CaseKeeper {
  /**
   * @param {string} id of the test cases
   * @param {{revision: number, columns: string[]}} known
   * @param {Owner} owner
   */
  constructor(id, known, owner) {
    this.id = id;
    this.revision = known.revision;
    this.columns = known.columns;
    this.owner = owner;
    /** Sent, and not answered or not known to have arrived. @type {Edit[]} */
    this.flight = [];
    /** @type {Edit[]} */
    this.queue = [];
    this.busy = false;
    this.stopped = false;
    this.failures = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    window.addEventListener("online", () => this.failures > 0 && this.#later(0));
    window.addEventListener("beforeunload", (event) => {
      if (this.isUnsaved) event.preventDefault();
    });
    document.addEventListener("visibilitychange", () => document.hidden && this.#later(0));
  }

  get isUnsaved() {
    return this.flight.length + this.queue.length > 0;
  }

  /** @param {Edit[]} edits */
  note(edits) {
    this.queue.push(...edits);
    if (this.stopped) return;
    if (this.failures === 0) this.#say("waiting");
    this.#later(QUIET_MS);
  }

  /** Sends what there is at once. Resolves when the server has it or cannot be reached. */
  async flush() {
    clearTimeout(this.timer);
    await this.#send();
  }

  /** Nothing is sent any more, nor asked about on leaving. */
  forget() {
    this.stopped = true;
    this.flight = [];
    this.queue = [];
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.#send(), ms);
  }

  /** @param {KeeperState["kind"]} kind @param {string} [message] */
  #say(kind, message = "") {
    this.owner.onState({ kind, message });
  }

  async #send() {
    if (this.busy || this.stopped || !this.isUnsaved) return;
    this.busy = true;
    if (this.flight.length === 0) this.flight = this.queue.splice(0, MOST_EDITS);
    this.#say("saving");
    await this.#patch().catch((error) => this.#failed(error));
    this.busy = false;
    if (this.stopped) return;
    if (!this.isUnsaved) this.#say("saved");
    else this.#later(this.failures > 0 ? AGAIN_MS[Math.min(this.failures, AGAIN_MS.length) - 1] : 0);
  }

  async #patch() {
    const columns = this.owner.columns();
    const changed = columns.join("\0") !== this.columns.join("\0");
    const body = { revision: this.revision, edits: this.flight.map((edit) => sentEdit(edit, columns)), ...(changed ? { columns } : {}) };
    this.#arrived(await call(`datasets/${this.id}/rows`, { method: "PATCH", body }));
  }

  /** @param {{revision: number, columns: string[]}} answer */
  #arrived({ revision, columns }) {
    this.revision = revision;
    this.columns = columns;
    this.flight = [];
    this.failures = 0;
  }

  /** @param {unknown} error */
  async #failed(error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "dataset_changed" && this.failures > 0 && (await this.#hasArrived())) return;
    if (error.status >= 400 && error.status < 500 && error.status !== 429) {
      this.stopped = true;
      this.#say(error.code === "dataset_changed" ? "changed" : "refused", error.sentence);
      return;
    }
    this.failures += 1;
    this.#say("failed", error.sentence);
  }

  /** After a cut nobody knows whether the edits arrived; they did if what the server has leads to what is here. */
  async #hasArrived() {
    try {
      const { revision, columns, rows } = await fetchCases(this.id);
      for (const edit of this.queue) applyEdit(rows, edit);
      if (!sameCases(rows, this.owner.rows())) return false;
      this.#arrived({ revision, columns });
      return true;
    } catch {
      return false;
    }
  }
}
