/* The parts in which a text is sent, so that a cut costs the one that was on its way: their hashes, and what is there. */
import { Sha256 } from "./sha256.js";

/** @typedef {{number: number, offset: number, size: number, received: boolean, url?: string, method?: string, headers?: Record<string, string>}} Part */

/** The server cuts at the same length. */
export const PART_BYTES = 8 * 1024 * 1024;

/** SHA-256 of each part of bytes as they come. */
export class PartHashes {
  /** @param {number} [size] of each part but the last */
  constructor(size = PART_BYTES) {
    this.size = size;
    /** @type {string[]} */
    this.done = [];
    this.current = new Sha256();
    this.filled = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.size - this.filled);
      this.current.update(piece);
      this.filled += piece.length;
      at += piece.length;
      if (this.filled === this.size) this.#close();
    }
  }

  #close() {
    this.done.push(this.current.digest());
    this.current = new Sha256();
    this.filled = 0;
  }

  /** @returns {string[]} none for what is sent in one piece */
  digest() {
    if (this.filled > 0) this.#close();
    return this.done.length > 1 ? this.done : [];
  }
}

/**
 * @param {Part[]} parts
 * @returns {number} bytes of those that are there
 */
export function bytesThere(parts) {
  return parts.reduce((sum, part) => sum + (part.received ? part.size : 0), 0);
}
