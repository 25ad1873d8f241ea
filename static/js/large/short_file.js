/* A file that becomes a text of the page, not an upload. */
import { sizeWords } from "./sizes.js";

/** A text sent inside a request may have so much. */
const MOST = 2 * 1024 * 1024;

/**
 * The text of a file, byte for byte. Rejects with a sentence if it is none, or too long.
 * @param {File} file
 * @param {string} what it becomes
 */
export async function readShort(file, what) {
  if (file.size > MOST) throw new Error(`${file.name} has ${sizeWords(file.size)}. ${what} may have ${sizeWords(MOST)}; put a larger text into a message.`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8 text. Nothing was changed.`);
  }
}
