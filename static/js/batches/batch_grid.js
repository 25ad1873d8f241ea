/* The pass/fail grid of a batch: rows are cases, columns are versions; filtered and searched by the server. */
import { call } from "../api.js";
import { afterQuiet, el, one } from "../dom.js";
import { toastError } from "../toast.js";
import { versionWords } from "./batch_words.js";
import { shownValue } from "./case_sheet.js";
import { GridView } from "./grid_view.js";
import { PagedRows } from "./paged_rows.js";
import { paintResult } from "./result_cell.js";
import { ResultPanel } from "./result_panel.js";
import { SidePanel } from "./side_panel.js";

/** @typedef {import("./batch_words.js").Batch} Batch */
/** @typedef {import("./batch_words.js").ResultRow} ResultRow */
/** @typedef {import("./grid_walk.js").Place} Place */

const HEIGHT = 92;
const PAGE = 50;
const FOLLOW_MS = 120;
const SEARCH_MS = 300;
const SHOWN = 200;

/** @param {unknown} value */
const inOneLine = (value) => shownValue(value).slice(0, SHOWN).replace(/\s+/g, " ");

export class BatchGrid {
  /** @param {HTMLElement} root @param {Batch} batch */
  constructor(root, batch) {
    this.batch = batch;
    this.count = one("[data-filter-count]");
    this.none = one("[data-grid-none]", root, HTMLElement);
    this.only = one("[data-filter-only]", document, HTMLSelectElement);
    this.text = one("[data-filter-text]", document, HTMLInputElement);
    /** How many rows the server looked through for what is searched: it gives up after a while. */
    this.searched = batch.rows;
    /** Columns before the first version. */
    this.before = batch.has_expected ? 2 : 1;
    this.rows = new PagedRows((offset, limit, signal) => this.#fetch(offset, limit, signal), (error) => this.#arrived(error), PAGE);
    const side = new SidePanel(one("[data-side]", root, HTMLElement), () => this.#closed());
    this.panel = new ResultPanel(side, batch.id);
    this.followSoon = afterQuiet(() => this.panel.side.isOpen && this.#open(this.grid.active), FOLLOW_MS);
    this.grid = new GridView(one("[data-grid]", root, HTMLElement), {
      height: HEIGHT,
      opensOnClick: true,
      paint: (cell, place) => this.#paint(cell, place),
      nameRow: (row) => this.#nameRow(row),
      onWindow: (first, last) => this.rows.want(first, last),
      onMove: () => this.followSoon(),
      onOpen: (place) => this.#opened(place),
      onKey: (event) => this.#onKey(event),
    });
    this.#bindFilters();
    this.#setColumns();
    this.refetch();
  }

  #setColumns() {
    const { versions, has_expected: hasExpected } = this.batch;
    const heads = [el("span", {}, "Case"), ...(hasExpected ? [el("span", {}, "Expected")] : []), ...versions.map((version) => el("span", { class: "truncate", title: versionWords(version), dir: "auto" }, versionWords(version)))];
    const widths = [...Array(this.before).fill({ least: "var(--grid-case)", share: 1 }), ...versions.map(() => ({ least: "var(--grid-answer)", share: 2 }))];
    this.grid.setColumns(heads, widths);
  }

  #bindFilters() {
    const asked = new URLSearchParams(location.search);
    this.only.value = asked.get("only") ?? "";
    if (this.only.selectedIndex < 0) this.only.value = "";
    this.text.value = asked.get("q") ?? "";
    this.only.addEventListener("change", () => this.#filtered());
    this.text.addEventListener("input", afterQuiet(() => this.#filtered(), SEARCH_MS));
    one("[data-batch-filters]").addEventListener("submit", (event) => {
      event.preventDefault();
      this.grid.focus();
    });
    for (const field of /** @type {HTMLElement[]} */ ([this.only, this.text])) {
      field.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        this.grid.focus();
      });
    }
  }

  get #query() {
    const query = new URLSearchParams();
    if (this.only.value) query.set("only", this.only.value);
    if (this.text.value.trim()) query.set("q", this.text.value.trim());
    return query;
  }

  #filtered() {
    const query = this.#query;
    history.replaceState(null, "", query.size > 0 ? `?${query}` : location.pathname);
    this.rows.clear();
    this.grid.root.scrollTop = 0;
    this.grid.active = { row: 0, column: this.grid.active.column };
    this.count.textContent = "Looking…";
    this.refetch();
  }

  /** @param {number} offset @param {number} limit @param {AbortSignal} signal */
  async #fetch(offset, limit, signal) {
    const query = this.#query;
    query.set("offset", String(offset));
    query.set("limit", String(limit));
    const { count, results, searched } = await call(`batches/${this.batch.id}/results?${query}`, { signal });
    this.searched = searched ?? this.batch.rows;
    return { count, rows: /** @type {ResultRow[]} */ (results) };
  }

  /** @param {unknown} error */
  #arrived(error) {
    if (error) {
      this.count.textContent = "The rows could not be loaded.";
      toastError(error);
      return;
    }
    const count = this.rows.count ?? 0;
    const isFiltered = this.#query.size > 0;
    const all = this.batch.rows.toLocaleString();
    const part = this.text.value.trim() && !this.only.value && this.searched < this.batch.rows ? `, found in the first ${this.searched.toLocaleString()}` : "";
    const words = isFiltered ? `${count.toLocaleString()} of ${all} rows${part}` : `${all} rows`;
    if (this.count.textContent !== words) this.count.textContent = words;
    this.none.hidden = count > 0;
    this.none.textContent = isFiltered ? "No row is like that. Esc leaves the filter; “All rows” shows the others." : "There are no rows.";
    this.grid.setCount(count);
  }

  /** Rows in sight are asked for again. */
  refetch() {
    this.rows.spoil();
    const { first, last } = this.grid.window;
    this.rows.want(first, Math.max(last, 1));
  }

  /** The batch moved on. @param {Batch} batch @param {boolean} moved */
  follow(batch, moved) {
    this.batch = batch;
    if (!moved) return;
    this.refetch();
    const { open, side } = this.panel;
    if (side.isOpen && open) void this.panel.show(batch, open.index, open.position);
  }

  /** @param {number} row */
  #nameRow(row) {
    const found = this.rows.at(row);
    return found ? (found.index + 1).toLocaleString() : "";
  }

  /** @param {HTMLElement} cell @param {Place} place */
  #paint(cell, { row, column }) {
    const found = this.rows.at(row);
    if (column >= this.before) {
      paintResult(cell, found ? found.cells[column - this.before] : undefined, this.batch);
    } else if (!found) {
      cell.replaceChildren(el("span", { class: "cell-word" }, "…"));
    } else if (column === 1) {
      cell.replaceChildren(found.expected === null ? el("span", { class: "cell-word" }, "none") : el("span", { class: "cell-excerpt", dir: "auto" }, found.expected.slice(0, SHOWN)));
    } else {
      cell.replaceChildren(this.#caseWords(found));
    }
  }

  /** @param {ResultRow} row */
  #caseWords({ values }) {
    const names = this.batch.columns;
    if (names.length === 0) return el("span", { class: "cell-word" }, "no variables");
    const lines = names.slice(0, 3).map((name) => {
      const value = values[name];
      const text = value === undefined || value === null ? el("span", { class: "cell-word" }, "not given") : value === "" ? el("span", { class: "cell-word" }, "empty text") : el("span", { dir: "auto" }, inOneLine(value));
      return el("span", { class: "case-line truncate" }, el("bdi", { class: "case-name mono" }, name), text);
    });
    const more = names.length > 3 ? [el("span", { class: "cell-word" }, `and ${names.length - 3} more`)] : [];
    return el("span", { class: "case-lines" }, ...lines, ...more);
  }

  /** @param {Place} place */
  #opened(place) {
    this.#open(place);
    // The grid is narrower now.
    this.grid.reveal();
    // On a phone the panel lies over the grid, so the focus goes with it.
    if (matchMedia("(max-width: 900px)").matches) one("[data-side-close]", this.panel.side.root, HTMLElement).focus();
  }

  /** @param {Place} place */
  #open({ row, column }) {
    const found = this.rows.at(row);
    if (found) void this.panel.show(this.batch, found.index, column < this.before ? null : column - this.before);
  }

  #closed() {
    this.panel.closed();
    this.grid.focus();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.key !== "Escape" || !this.panel.side.isOpen) return false;
    event.preventDefault();
    this.panel.side.close();
    return true;
  }
}
