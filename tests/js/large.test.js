import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PART_BYTES, PartHashes, bytesThere } from "../../static/js/large/parts.js";
import { Sha256 } from "../../static/js/large/sha256.js";
import { RowIndex } from "../../static/js/large/row_index.js";
import { WindowCache } from "../../static/js/large/window_cache.js";
import { STEP, TextScan } from "../../static/js/large/text_scan.js";

const encode = (/** @type {string} */ text) => new TextEncoder().encode(text);

/** @param {Uint8Array} bytes @param {number} [piece] */
function scan(bytes, piece = 7) {
  const found = new TextScan();
  for (let at = 0; at < bytes.length; at += piece) found.feed(bytes.subarray(at, at + piece));
  return found.end();
}

test("the hash is SHA-256, however the bytes are cut", () => {
  for (const length of [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 100_003]) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + length) % 256);
    const expected = createHash("sha256").update(bytes).digest("hex");
    for (const piece of [1, 13, 64, 4096]) {
      const hash = new Sha256();
      for (let at = 0; at < length; at += piece) hash.update(bytes.subarray(at, at + piece));
      assert.equal(hash.digest(), expected, `${length} in pieces of ${piece}`);
    }
  }
});

test("each part has its hash, however the bytes are cut", () => {
  const bytes = Uint8Array.from({ length: 250 }, (_, index) => index % 256);
  for (const [length, sizes] of /** @type {[number, number[]][]} */ ([[250, [100, 100, 50]], [200, [100, 100]], [101, [100, 1]]])) {
    const expected = sizes.map((size, index) => createHash("sha256").update(bytes.subarray(index * 100, index * 100 + size)).digest("hex"));
    for (const piece of [1, 7, 100, 250]) {
      const hashes = new PartHashes(100);
      for (let at = 0; at < length; at += piece) hashes.update(bytes.subarray(at, Math.min(at + piece, length)));
      assert.deepEqual(hashes.digest(), expected, `${length} in pieces of ${piece}`);
    }
  }
  const one = new PartHashes(100);
  one.update(bytes.subarray(0, 100));
  assert.deepEqual(one.digest(), [], "what is no longer than a part is sent in one piece");
});

test("the pages and the server cut at the same length", () => {
  const source = readFileSync(new URL("../../playground/bodies/parts.py", import.meta.url), "utf8");
  const [, factors] = /^PART_BYTES = ([\d *]+)$/m.exec(source) ?? [];
  assert.equal(factors?.split("*").reduce((product, factor) => product * Number(factor), 1), PART_BYTES);
});

test("what is there is counted", () => {
  const part = { number: 1, offset: 0, size: 5, received: true };
  assert.equal(bytesThere([part, { ...part, received: false }, { ...part, size: 2 }]), 7);
});

test("lines and UTF-16 units are counted", () => {
  const text = "\ufeffa\r\nb\n\n😀é\n";
  const found = scan(encode(text));
  assert.deepEqual([found.bytes, found.lines, found.utf16, found.wrong], [encode(text).length, 5, text.length, -1]);
  assert.equal(scan(encode("a\nb")).lines, 2);
  assert.equal(scan(encode("")).lines, 1);
  assert.equal(scan(encode("ab\nabcd\nabc")).longest, 4);
});

test("what is no UTF-8 is found at its first byte", () => {
  /** @type {[number[], number][]} */
  const cases = [
    [[0x61, 0xff], 1],
    [[0x61, 0xc3], 1],
    [[0x61, 0xc3, 0x61], 1],
    [[0xc0, 0x80], 0],
    [[0xe0, 0x80, 0x80], 0],
    [[0xed, 0xa0, 0x80], 0],
    [[0xf4, 0x90, 0x80, 0x80], 0],
    [[0x62, 0xf0, 0x9f, 0x98], 1],
    [[0x80], 0],
  ];
  for (const [bytes, wrong] of cases) {
    assert.equal(scan(Uint8Array.from(bytes), 1).wrong, wrong, bytes.toString());
    assert.throws(() => new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes)));
  }
});

test("entries of the index stand at characters", () => {
  const text = "ab😀\n".repeat(STEP);
  const found = scan(encode(text), 1000);
  assert.ok(found.index.length > 6);
  for (const [byte, line, utf16] of found.index) {
    const before = new TextDecoder("utf-8", { fatal: true }).decode(encode(text).subarray(0, byte));
    assert.deepEqual([before.length, before.split("\n").length - 1], [utf16, line]);
  }
});

/**
 * @param {string} text
 * @returns {Promise<{index: RowIndex, cache: WindowCache, texts: () => Promise<string[]>}>}
 */
async function rowsOf(text) {
  const bytes = encode(text);
  const { index: entries, lines } = scan(bytes, 4096);
  const index = new RowIndex(entries, bytes.length, lines);
  const cache = new WindowCache(async (from, to) => bytes.slice(from, to), index, () => {});
  const texts = async () => {
    const found = [];
    for (let row = 0; row < index.rows; row += 1) {
      await cache.load(index.place(row).block);
      if (row + 1 < index.rows) await cache.load(index.place(row + 1).block);
      await cache.load(index.blocks - 1);
      let content = cache.row(row);
      for (let tries = 0; !content && tries < 20; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve));
        content = cache.row(row);
      }
      found.push(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content ?? undefined));
    }
    return found;
  };
  return { index, cache, texts };
}

test("rows are the lines, found by block", async () => {
  const lines = Array.from({ length: 30_000 }, (_, number) => `line ${number} ${"é😀".repeat(number % 5)}`);
  const { index, cache, texts } = await rowsOf(lines.join("\r\n"));
  assert.equal(index.rows, lines.length);
  assert.deepEqual(await texts(), lines);
  for (const line of [0, 1, 2, 9999, 29_998, 29_999]) {
    const row = index.rowOfLine(line);
    assert.deepEqual(index.line(row), { line, continued: false });
    const { block } = index.place(row);
    const found = await cache.load(block);
    const start = cache.startOf(row) ?? -1;
    const at = index.blockAt(start);
    assert.equal(index.rowOfByte(start, cache.feedsBefore(await cache.load(at), at, start - 1)), row);
    assert.ok(found.bytes.length > 0);
  }
  assert.ok(cache.windows.size <= 8);
});

test("a line of many blocks comes in pieces, and nothing is lost between them", async () => {
  const long = "wörd ".repeat(60_000);
  for (const text of [long, `a\n${long}\nb\n\n`, `${"x\n".repeat(50_000)}${long}\n${"y\n".repeat(50_000)}`, "", "\n", "a", "a\n", "é".repeat(33_000)]) {
    const { index, texts } = await rowsOf(text);
    const rows = await texts();
    const joined = rows.map((row, number) => (number === 0 || index.line(number).continued ? row : `\n${row}`)).join("");
    assert.equal(joined, text);
    assert.ok(rows.every((row) => row.length <= 140_000));
  }
});
