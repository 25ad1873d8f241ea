/* Worker: reads a file in pieces. Answers how far it is, then what the file is, or where it is no text. */
import { names } from "../template.js";
import { PartHashes } from "./parts.js";
import { Sha256 } from "./sha256.js";
import { TextScan } from "./text_scan.js";

const PIECE = 1024 * 1024;

/**
 * Of any bytes: their hashes.
 * @param {Blob} file
 * @param {(done: number) => void} onProgress
 */
async function hashOnly(file, onProgress) {
  const hash = new Sha256();
  const parts = new PartHashes();
  for (let at = 0; at < file.size; at += PIECE) {
    const piece = new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer());
    hash.update(piece);
    parts.update(piece);
    onProgress(Math.min(at + PIECE, file.size));
  }
  return { facts: { sha256: hash.digest() }, parts: parts.digest() };
}

/**
 * @param {Blob} file
 * @param {(done: number) => void} onProgress
 */
async function examine(file, onProgress) {
  const hash = new Sha256();
  const parts = new PartHashes();
  const scan = new TextScan();
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  for (let at = 0; at < file.size && scan.wrong < 0; at += PIECE) {
    const piece = new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer());
    scan.feed(piece);
    hash.update(piece);
    parts.update(piece);
    onProgress(Math.min(at + PIECE, file.size));
  }
  scan.end();
  const { bytes, lines, longest, index, wrong, newlines } = scan;
  const isUtf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff);
  if (wrong >= 0) return { wrong, line: newlines + 1, isUtf16 };
  const facts = { sha256: hash.digest(), bytes, lines, longest, index, variables: names(await file.text()) };
  return { facts, parts: parts.digest() };
}

addEventListener("message", async ({ data }) => {
  try {
    const read = data.anyBytes ? hashOnly : examine;
    postMessage({ done: await read(data.file, (done) => postMessage({ read: done })) });
  } catch (error) {
    postMessage({ failed: /** @type {Error} */ (error).message });
  }
});
