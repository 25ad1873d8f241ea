/* Reads UTF-8 as it comes: where it is no UTF-8, how many lines, the longest one, and an index to jump by. */

/** Between two entries of an index. */
export const STEP = 64 * 1024;

/** @typedef {[byte: number, line: number, utf16: number]} Entry at a character: how many line feeds and UTF-16 units precede it */

export class TextScan {
  constructor() {
    this.bytes = 0;
    this.newlines = 0;
    this.longest = 0;
    this.utf16 = 0;
    /** @type {Entry[]} */
    this.index = [[0, 0, 0]];
    /** The byte that is no UTF-8; -1 for none. */
    this.wrong = -1;
    this.lineStart = 0;
    this.next = STEP;
    this.need = 0;
    this.low = 0x80;
    this.high = 0xbf;
    this.begun = 0;
  }

  /** @param {Uint8Array} chunk */
  feed(chunk) {
    const base = this.bytes;
    for (let i = 0; i < chunk.length && this.wrong < 0; i += 1) {
      const byte = chunk[i];
      if (this.need > 0) this.#continue(byte);
      else this.#begin(byte, base + i);
    }
    this.bytes = base + chunk.length;
    return this;
  }

  /** @param {number} byte */
  #continue(byte) {
    if (byte < this.low || byte > this.high) this.wrong = this.begun;
    this.low = 0x80;
    this.high = 0xbf;
    this.need -= 1;
  }

  /**
   * @param {number} byte
   * @param {number} at
   */
  #begin(byte, at) {
    if (at >= this.next) {
      this.index.push([at, this.newlines, this.utf16]);
      this.next += STEP;
    }
    this.utf16 += 1;
    if (byte < 0x80) {
      if (byte === 10) this.#line(at);
      return;
    }
    this.begun = at;
    if (byte < 0xc2 || byte > 0xf4) {
      this.wrong = at;
    } else if (byte < 0xe0) {
      this.need = 1;
    } else if (byte < 0xf0) {
      this.need = 2;
      if (byte === 0xe0) this.low = 0xa0;
      if (byte === 0xed) this.high = 0x9f;
    } else {
      this.need = 3;
      this.utf16 += 1;
      if (byte === 0xf0) this.low = 0x90;
      if (byte === 0xf4) this.high = 0x8f;
    }
  }

  /** @param {number} at */
  #line(at) {
    this.longest = Math.max(this.longest, at - this.lineStart);
    this.lineStart = at + 1;
    this.newlines += 1;
  }

  end() {
    if (this.need > 0 && this.wrong < 0) this.wrong = this.begun;
    this.longest = Math.max(this.longest, this.bytes - this.lineStart);
    return this;
  }

  /** Line feeds plus one, as an editor numbers them. */
  get lines() {
    return this.newlines + 1;
  }
}
