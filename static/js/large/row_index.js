/*
 * Rows of a text that is not here: from an index entry every 64 KiB to "row 5,000 starts in block 3". A row is a line,
 * or a piece of one so long that whole blocks have no line end. Pure arithmetic: bytes are looked up by the caller.
 */

/** @typedef {import("./text_scan.js").Entry} Entry */

const FULL_BLOCK = 60_000;

/**
 * How many of `rising` numbers are at most `value`.
 * @param {ArrayLike<number>} rising
 * @param {number} value
 */
export function countUpTo(rising, value) {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class RowIndex {
  /**
   * @param {Entry[]} entries the first is [0, 0, 0]
   * @param {number} bytes
   * @param {number} lines line feeds plus one
   */
  constructor(entries, bytes, lines) {
    this.bytes = bytes;
    this.lines = lines;
    this.starts = entries.map(([byte]) => byte);
    this.lineAt = entries.map(([, line]) => line);
    /** By block: rows that start in the blocks before it. */
    this.first = [0];
    this.isPiece = entries.map((_, block) => this.#isPiece(block));
    for (let block = 0; block < entries.length; block += 1) this.first.push(this.first[block] + this.#rowsIn(block));
    this.rows = this.first[entries.length];
  }

  get blocks() {
    return this.starts.length;
  }

  /** @param {number} block */
  end(block) {
    return this.starts[block + 1] ?? this.bytes;
  }

  /* Lines that start after a line end inside the block. */
  #linesIn(/** @type {number} */ block) {
    const after = block + 1 < this.blocks ? this.lineAt[block + 1] : this.lines - 1;
    return after - this.lineAt[block];
  }

  #isPiece(/** @type {number} */ block) {
    return block > 0 && this.#linesIn(block) === 0 && this.end(block) - this.starts[block] >= FULL_BLOCK;
  }

  #rowsIn(/** @type {number} */ block) {
    return this.#linesIn(block) + (block === 0 || this.isPiece[block] ? 1 : 0);
  }

  /** @param {number} byte */
  blockAt(byte) {
    return Math.max(0, countUpTo(this.starts, byte) - 1);
  }

  /**
   * Where a row starts: at the beginning of a block, or behind the `after`-th line feed of it.
   * @param {number} row
   * @returns {{block: number, after: number}} after 0 is the beginning
   */
  place(row) {
    const block = Math.min(this.blocks, countUpTo(this.first, row)) - 1;
    const nth = row - this.first[block];
    return { block, after: block === 0 || this.isPiece[block] ? nth : nth + 1 };
  }

  /**
   * @param {number} row
   * @returns {{line: number, continued: boolean}} line from 0
   */
  line(row) {
    const { block, after } = this.place(row);
    return { line: this.lineAt[block] + after, continued: this.isPiece[block] };
  }

  /** @param {number} line from 0 */
  rowOfLine(line) {
    const wanted = Math.min(Math.max(0, line), this.lines - 1);
    if (wanted === 0) return 0;
    const block = Math.max(0, countUpTo(this.lineAt, wanted - 1) - 1);
    return this.first[block] + wanted - this.lineAt[block] - (block === 0 ? 0 : 1);
  }

  /**
   * @param {number} byte
   * @param {number} feeds line feeds of its block before it
   */
  rowOfByte(byte, feeds) {
    const block = this.blockAt(byte);
    const row = this.first[block] + feeds - (block === 0 || this.isPiece[block] ? 0 : 1);
    return Math.min(this.rows - 1, Math.max(0, row));
  }
}
