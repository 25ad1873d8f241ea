/* The test cases and the batches of a prompt, as rows of two lists. */
import { call } from "../api.js";
import { el, one } from "../dom.js";
import { timeElement } from "../time.js";
import { stateMark, stateWords } from "./batch_words.js";
import { shareWords } from "./durations.js";

/** @typedef {import("./reading.js").Dataset} Dataset */
/** @typedef {import("./batch_words.js").Batch} Batch */

/** @type {Record<Dataset["status"], string>} */
const STATUS = { ready: "", pending: "File awaited", queued: "To be read", reading: "Being read", failed: "Not taken in" };

/** @param {number} count @param {string} one */
const counted = (count, one) => `${count.toLocaleString()} ${one}${count === 1 ? "" : "s"}`;

/** @param {string} promptId @param {Dataset} dataset */
export function datasetRow(promptId, { id, name, status, count, columns, updated_at: at }) {
  const state = STATUS[status];
  return el(
    "li",
    { class: "list-row" },
    el("a", { class: "list-link list-name truncate", href: `/prompts/${promptId}/tests/${id}/`, "data-row-link": true, title: name }, el("bdi", {}, name)),
    el("span", { class: "list-meta truncate mono", title: columns.join(", ") }, columns.map((column) => `{{${column}}}`).join(" ")),
    el("span", { class: "list-meta" }, ...(state ? [el("span", { class: "state", "data-state": status === "failed" ? "failed" : "running" }, state)] : [])),
    el("span", { class: "list-meta at-end" }, status === "ready" ? counted(count, "row") : ""),
    el("span", { class: "list-meta at-end list-when" }, timeElement(at)),
  );
}

/** @param {string} promptId @param {Batch} batch */
export function batchRow(promptId, batch) {
  const { id, name, dataset, versions, counts, rows, created_at: at, checks } = batch;
  const title = name || dataset?.name || "Batch";
  const judged = counts.passed + counts.failed + counts.error;
  const result = checks.length > 0 ? `${shareWords(counts.passed, judged)} passed` : counted(counts.done, "answer");
  return el(
    "li",
    { class: "list-row" },
    el("span", { class: "state", "data-state": stateMark(batch) }, stateWords(batch)),
    el("a", { class: "list-link list-name truncate", href: `/prompts/${promptId}/batches/${id}/`, "data-row-link": true, title }, el("bdi", {}, title)),
    el("span", { class: "list-meta truncate" }, versions.map(({ number, pointer }) => (String(number) === pointer ? `v${number}` : `${pointer} (v${number})`)).join(", ")),
    el("span", { class: "list-meta at-end" }, counted(rows, "row")),
    el("span", { class: "list-meta at-end" }, batch.state === "running" ? `${batch.ended.toLocaleString()} of ${counts.total.toLocaleString()}` : result),
    el("span", { class: "list-meta at-end list-when" }, timeElement(at)),
  );
}

/** A list that goes on where it ended. */
export class PagedList {
  /**
   * @param {HTMLElement} section
   * @param {string} name
   * @param {string} path
   * @param {(item: any) => HTMLElement} row
   */
  constructor(section, name, path, row) {
    this.section = section;
    this.list = one(`[data-${name}-list]`, section);
    this.more = one(`[data-${name}-more]`, section, HTMLElement);
    this.row = row;
    this.path = path;
    /** @type {string | null} */
    this.next = null;
    one("button", this.more).addEventListener("click", () => void this.#goOn());
  }

  /** @returns {Promise<number>} how many there are at first */
  async load() {
    const { results, next } = await call(this.path);
    this.list.replaceChildren(...results.map(this.row));
    this.#offer(next);
    return results.length;
  }

  async #goOn() {
    if (!this.next) return;
    const { results, next } = await call(this.next);
    this.list.append(...results.map(this.row));
    this.#offer(next);
  }

  /** @param {string | null} next */
  #offer(next) {
    this.next = next;
    this.more.hidden = !next;
  }
}
