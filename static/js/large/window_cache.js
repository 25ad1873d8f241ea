/* Windows of 256 KiB on a text that is elsewhere, cut where its index has entries; the eight used last are kept. */
import { countUpTo } from "./row_index.js";

const BLOCKS = 4;
const KEPT = 8;

/** @typedef {{start: number, bytes: Uint8Array, feeds: number[]}} Window feeds: positions of line feeds in the whole text */

/**
 * @param {number} start
 * @param {Uint8Array} bytes
 * @returns {Window}
 */
export function windowOf(start, bytes) {
  const feeds = [];
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) feeds.push(start + at);
  return { start, bytes, feeds };
}

export class WindowCache {
  /**
   * @param {(from: number, to: number) => Promise<Uint8Array>} read
   * @param {import("./row_index.js").RowIndex} index
   * @param {(error?: Error) => void} onChange a window came, or could not be had
   */
  constructor(read, index, onChange) {
    this.read = read;
    this.index = index;
    this.onChange = onChange;
    /** In order of last use. @type {Map<number, Window>} */
    this.windows = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
  }

  /** The window of a block, if it is here; if not, it is asked for. @param {number} block */
  at(block) {
    const number = Math.floor(block / BLOCKS);
    const found = this.windows.get(number);
    if (!found) {
      void this.#fetch(number);
      return null;
    }
    this.windows.delete(number);
    this.windows.set(number, found);
    return found;
  }

  /** @param {number} block */
  async load(block) {
    const number = Math.floor(block / BLOCKS);
    const found = this.windows.get(number) ?? (await this.#read(number));
    this.#keep(number, found);
    return found;
  }

  /** @param {number} number */
  async #read(number) {
    const from = this.index.starts[number * BLOCKS];
    const to = this.index.end(Math.min(this.index.blocks, (number + 1) * BLOCKS) - 1);
    return windowOf(from, await this.read(from, to));
  }

  /** @param {number} number */
  async #fetch(number) {
    if (this.asked.has(number) || this.asked.size > 3) return;
    this.asked.add(number);
    try {
      this.#keep(number, await this.#read(number));
      this.asked.delete(number);
      this.onChange();
    } catch (error) {
      setTimeout(() => this.asked.delete(number), 2000);
      this.onChange(/** @type {Error} */ (error));
    }
  }

  /**
   * @param {number} number
   * @param {Window} found
   */
  #keep(number, found) {
    this.windows.delete(number);
    this.windows.set(number, found);
    for (const oldest of this.windows.keys()) {
      if (this.windows.size <= KEPT) break;
      this.windows.delete(oldest);
    }
  }

  /** Line feeds of a block at or before `byte`. @param {Window} found @param {number} block @param {number} byte */
  feedsBefore(found, block, byte) {
    return countUpTo(found.feeds, byte) - countUpTo(found.feeds, this.index.starts[block] - 1);
  }

  /** Where a row starts; null while that is not known. @param {number} row */
  startOf(row) {
    if (row >= this.index.rows) return this.index.bytes;
    const { block, after } = this.index.place(row);
    if (after === 0) return this.index.starts[block];
    const found = this.at(block);
    if (!found) return null;
    const feed = found.feeds[countUpTo(found.feeds, this.index.starts[block] - 1) + after - 1];
    return feed === undefined ? this.index.end(block) : feed + 1;
  }

  /** The bytes of a row without its line end; null while they are not here. @param {number} row */
  row(row) {
    const start = this.startOf(row);
    const end = this.startOf(row + 1);
    const bytes = start === null || end === null ? null : this.slice(start, end);
    if (!bytes) return null;
    let length = bytes.length;
    if (bytes[length - 1] === 10) length -= bytes[length - 2] === 13 ? 2 : 1;
    return bytes.subarray(0, length);
  }

  /** @param {number} from @param {number} to */
  slice(from, to) {
    const parts = [];
    for (let at = from; at < to; ) {
      const found = this.at(this.index.blockAt(at));
      if (!found) return null;
      const part = found.bytes.subarray(at - found.start, to - found.start);
      if (part.length === 0) break;
      parts.push(part);
      at += part.length;
    }
    if (parts.length === 1) return parts[0];
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}
