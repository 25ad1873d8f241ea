/* A saved text, read from the server in parts: bytes by range, its line index, what is found in it. */
import { call, callBytes } from "../api.js";
import { placeholders } from "../template.js";
import { RowIndex } from "./row_index.js";

/** @typedef {{offset: number, length: number, line: number}} Match positions in bytes, line from 1 */

const MOST_PLACES = 500;

export class TextSource {
  /**
   * @param {string} address of the text, below /api/v1/
   * @param {number} bytes
   */
  constructor(address, bytes) {
    this.address = address;
    this.bytes = bytes;
  }

  /**
   * @param {number} from
   * @param {number} to not included
   * @returns {Promise<Uint8Array>}
   */
  read(from, to) {
    return to > from ? callBytes(this.address, { from, to }) : Promise.resolve(new Uint8Array());
  }

  /** @returns {Promise<{index: RowIndex, longest: number}>} */
  async lines() {
    const found = await call(`${this.address}/lines`);
    const entries = found.index.map((/** @type {number[]} */ [byte, line, utf16]) => [byte, line - 1, utf16]);
    return { index: new RowIndex(entries, found.bytes, found.lines), longest: found.longest_line_bytes };
  }

  /**
   * @param {string} words literally, in either case
   * @param {number} from byte to start at
   * @returns {Promise<{matches: Match[], next: number | null}>} next: where to go on
   */
  search(words, from, limit = 100) {
    return call(`${this.address}/search?${new URLSearchParams({ q: words, from: String(from), limit: String(limit) })}`);
  }

  /** The variables that the text names, as far as its first few hundred braces say. @returns {Promise<string[]>} */
  async variables() {
    const { matches } = await this.search("{{", 0, MOST_PLACES);
    const found = matches.flatMap((/** @type {any} */ { match, after }) => {
      const [first] = placeholders(`${match}${after}`);
      return first?.start === 0 ? [first.name] : [];
    });
    return [...new Set(found)];
  }

  /**
   * The whole text, byte for byte what was saved.
   * @param {(done: number) => void} onProgress of 1
   * @param {AbortSignal} signal
   */
  async text(onProgress, signal) {
    const bytes = await callBytes(this.address, { signal, onProgress: (read) => onProgress(read / Math.max(1, this.bytes)) });
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
}
