/* A file of test cases while the server reads it, and what it found wrong. */
import { ApiError, call } from "../api.js";
import { el, one } from "../dom.js";
import { toastError } from "../toast.js";
import { Poll } from "./poll.js";

/** @typedef {{row: number | null, line: number | null, message: string, code: string}} Problem */
/**
 * @typedef {{id: string, name: string, status: "ready" | "pending" | "queued" | "reading" | "failed", columns: string[], count: number, has_expected: boolean,
 *   revision: number, editable: boolean, updated_at: string, bytes: number,
 *   file: null | {format: string, size: number, bytes_read: number, rows_read: number, problem_count: number, problems: Problem[],
 *     warnings: {code: string, message: string}[], error: {code: string, message: string} | null}}} Dataset
 */

/**
 * How far reading is.
 * @param {Dataset} dataset
 * @returns {{words: string, done: number | null}} done: of 1, null if nobody knows
 */
export function readingWords({ status, file }) {
  if (status === "queued") return { words: "Sent. Waiting for its turn to be read.", done: null };
  if (status === "pending") return { words: "The file is still awaited.", done: null };
  if (!file || file.bytes_read === 0) return { words: "Reading the file.", done: null };
  const wrong = file.problem_count > 0 ? `, ${file.problem_count.toLocaleString()} of them with something wrong` : "";
  return { words: `${file.rows_read.toLocaleString()} rows read${wrong}`, done: file.bytes_read / Math.max(1, file.size) };
}

/**
 * What is said above the problems of a file.
 * @param {Dataset} dataset
 * @returns {{title: string, about: string}}
 */
export function problemWords({ status, count, file }) {
  const total = file?.problem_count ?? 0;
  const rows = `${total.toLocaleString()} ${total === 1 ? "row" : "rows"}`;
  const first = file && total > file.problems.length ? ` The first ${file.problems.length.toLocaleString()} are listed.` : "";
  if (status === "ready") return { title: `${rows} of the file ${total === 1 ? "was" : "were"} left out`, about: `${count.toLocaleString()} ${count === 1 ? "row was" : "rows were"} taken in.${first}` };
  const title = total > 0 ? `${rows} of the file cannot be read` : "The file was not taken in";
  return { title, about: `${file?.error?.message ?? "Nothing was taken in. Mend the file and choose it again."}${first}` };
}

export class Reading {
  /**
   * @param {Dataset} dataset
   * @param {(dataset: Dataset) => void} onOver
   */
  constructor(dataset, onOver) {
    this.root = one("[data-cases-reading]", document, HTMLElement);
    this.id = dataset.id;
    this.root.hidden = false;
    this.#paint(dataset);
    const poll = new Poll(async () => {
      const now = await call(`datasets/${this.id}`);
      this.#paint(now);
      if (now.status !== "ready" && now.status !== "failed") return "same";
      this.root.hidden = true;
      onOver(now);
      return "over";
    });
    poll.start();
    one("[data-reading-cancel]", this.root).addEventListener("click", () => void this.#cancel(poll));
  }

  /** @param {Dataset} dataset */
  #paint(dataset) {
    const { words, done } = readingWords(dataset);
    const bar = one("progress", this.root, HTMLProgressElement);
    if (done === null) bar.removeAttribute("value");
    else bar.value = done;
    const place = one("[data-reading-words]", this.root);
    if (place.textContent !== words) place.textContent = words;
  }

  /** @param {Poll} poll */
  async #cancel(poll) {
    try {
      await call(`datasets/${this.id}`, { method: "DELETE" });
      poll.stop();
      location.assign("../");
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) location.assign("../");
      else toastError(error);
    }
  }
}

/**
 * @param {Dataset} dataset
 * @param {{again: (options: {skipBadRows: boolean}) => void}} actions
 */
export function showProblems(dataset, { again }) {
  const root = one("[data-cases-problems]", document, HTMLElement);
  const { title, about } = problemWords(dataset);
  const problems = dataset.file?.problems ?? [];
  const isOver = dataset.status === "ready";
  one("[data-problems-title]", root).textContent = title;
  one("[data-problems-about]", root).textContent = about;
  one(".table-wrap", root, HTMLElement).hidden = problems.length === 0;
  const number = (/** @type {number | null} */ value) => (value === null || value === undefined ? "" : value.toLocaleString());
  one("[data-problems-rows]", root).replaceChildren(
    ...problems.map(({ row, line, message }) => el("tr", {}, el("td", { class: "numeric" }, number(row)), el("td", { class: "numeric" }, number(line)), el("td", { dir: "auto" }, message))),
  );
  one("[data-import-again]", root, HTMLElement).hidden = isOver;
  one("[data-import-skipping]", root, HTMLElement).hidden = isOver || problems.length === 0;
  one("[data-problems-close]", root, HTMLElement).hidden = !isOver;
  one("[data-import-again]", root).addEventListener("click", () => again({ skipBadRows: false }));
  one("[data-import-skipping]", root).addEventListener("click", () => again({ skipBadRows: true }));
  one("[data-problems-close]", root).addEventListener("click", () => (root.hidden = true));
  root.hidden = false;
}
