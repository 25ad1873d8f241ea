/* Rows of a long list by their index, fetched page by page as they come into sight. No document here. */

const PAGE = 100;
const MOST_PAGES = 60;
const AT_ONCE = 2;

/**
 * @template T
 * @typedef {(offset: number, limit: number, signal: AbortSignal) => Promise<{count: number, rows: T[]}>} FetchPage
 */

/** @template T */
export class PagedRows {
  /**
   * @param {FetchPage<T>} fetchPage
   * @param {(error?: unknown) => void} onChange rows arrived, or why they did not
   * @param {number} [page] rows asked for at once
   */
  constructor(fetchPage, onChange, page = PAGE) {
    this.fetchPage = fetchPage;
    this.onChange = onChange;
    this.page = page;
    /** How many rows there are; null until the first page says so. @type {number | null} */
    this.count = null;
    /** By number, the one asked for last at the end. @type {Map<number, T[]>} */
    this.pages = new Map();
    /** Pages that are shown until they have been asked for anew. @type {Set<number>} */
    this.stale = new Set();
    /** @type {Map<number, AbortController>} */
    this.flights = new Map();
    /** @type {number[]} */
    this.wanted = [];
  }

  /** @param {number} index */
  at(index) {
    return this.pages.get(Math.floor(index / this.page))?.[index % this.page];
  }

  /**
   * The rows from `first` up to `last` are in sight: what is missing of them is asked for, what else was wanted is not.
   * @param {number} first
   * @param {number} last not included
   */
  want(first, last) {
    const from = Math.floor(first / this.page);
    const to = Math.floor(Math.max(first, last - 1) / this.page);
    this.wanted = [];
    for (let number = from; number <= to; number += 1) {
      this.#touch(number);
      if (!this.pages.has(number) || this.stale.has(number)) this.wanted.push(number);
    }
    for (const [number, flight] of this.flights) {
      if (number < from || number > to) flight.abort();
    }
    this.#fly();
  }

  /** What is shown may have changed: pages are asked for again as they are wanted, and stay until then. */
  spoil() {
    this.stale = new Set(this.pages.keys());
  }

  /** Another list: nothing of the old one is shown. */
  clear() {
    for (const flight of this.flights.values()) flight.abort();
    this.flights.clear();
    this.pages.clear();
    this.stale.clear();
    this.wanted = [];
    this.count = null;
  }

  /** @param {number} number */
  #touch(number) {
    const rows = this.pages.get(number);
    if (!rows) return;
    this.pages.delete(number);
    this.pages.set(number, rows);
  }

  #fly() {
    while (this.flights.size < AT_ONCE && this.wanted.length > 0) {
      const number = /** @type {number} */ (this.wanted.shift());
      if (!this.flights.has(number)) void this.#fetch(number);
    }
  }

  /** @param {number} number */
  async #fetch(number) {
    const flight = new AbortController();
    this.flights.set(number, flight);
    try {
      const { count, rows } = await this.fetchPage(number * this.page, this.page, flight.signal);
      if (this.flights.get(number) !== flight) return;
      this.#keep(number, rows, count);
      this.onChange();
    } catch (error) {
      if (!flight.signal.aborted) this.onChange(error);
    } finally {
      if (this.flights.get(number) === flight) this.flights.delete(number);
    }
    this.#fly();
  }

  /** @param {number} number @param {T[]} rows @param {number} count */
  #keep(number, rows, count) {
    this.count = count;
    this.pages.delete(number);
    this.pages.set(number, rows);
    this.stale.delete(number);
    for (const oldest of this.pages.keys()) {
      if (this.pages.size <= MOST_PAGES) break;
      this.pages.delete(oldest);
    }
  }
}
