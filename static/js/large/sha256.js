/* SHA-256 of bytes as they come. crypto.subtle wants the whole text at once, and a secure context, which a home network is not. */

const ROUNDS = new Uint32Array(64);
const START = new Uint32Array(8);

/* The constants are the fractional parts of the roots of the first primes. */
function fillConstants() {
  const fraction = (/** @type {number} */ value) => Math.floor((value - Math.floor(value)) * 2 ** 32);
  let found = 0;
  for (let number = 2; found < 64; number += 1) {
    if (!isPrime(number)) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(number));
    ROUNDS[found] = fraction(Math.cbrt(number));
    found += 1;
  }
}

/** @param {number} number */
function isPrime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}

fillConstants();

export class Sha256 {
  constructor() {
    this.state = START.slice();
    this.words = new Int32Array(64);
    this.block = new Uint8Array(64);
    this.filled = 0;
    this.length = 0;
  }

  /** @param {Uint8Array} bytes */
  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.filled === 0 && bytes.length - at >= 64) {
        this.#compress(bytes, at);
        at += 64;
        continue;
      }
      const taken = Math.min(64 - this.filled, bytes.length - at);
      this.block.set(bytes.subarray(at, at + taken), this.filled);
      this.filled += taken;
      at += taken;
      if (this.filled === 64) {
        this.#compress(this.block, 0);
        this.filled = 0;
      }
    }
    return this;
  }

  /** @returns {string} in hex; nothing may be added afterwards */
  digest() {
    const bits = this.length * 8;
    const padding = new Uint8Array(((this.filled < 56 ? 56 : 120) - this.filled) + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    return [...this.state].map((word) => word.toString(16).padStart(8, "0")).join("");
  }

  /**
   * @param {Uint8Array} bytes
   * @param {number} at
   */
  #compress(bytes, at) {
    const { words: w, state } = this;
    for (let i = 0; i < 16; i += 1, at += 4) w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    const added = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i += 1) state[i] += added[i];
  }
}
