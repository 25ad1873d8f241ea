/* What a slot has to say or find out about a large text. */
import { isBody, isUpload } from "./references.js";
import { countWords, sizeWords } from "./sizes.js";
import { home } from "./text_home.js";

/**
 * @param {import("./references.js").Reference} reference
 * @returns {{name: string, facts: string}} "notes.txt", "20.1 MB · 412,003 lines"
 */
export function cardWords(reference) {
  const file = isUpload(reference) ? home.files[reference.upload] : undefined;
  const bytes = file?.bytes ?? (isBody(reference) ? reference.bytes : undefined);
  const facts = [bytes !== undefined && sizeWords(bytes), file && countWords(file.lines, "line")].filter(Boolean);
  return { name: file?.name ?? "A large text", facts: facts.join(" · ") };
}

/**
 * UTF-8 has no half characters: a text with one would come back as another.
 * @param {string} text
 * @returns {string} what is wrong; "" if nothing
 */
export function halfCharacter(text) {
  if (text.isWellFormed()) return "";
  const at = /\p{Surrogate}/u.exec(text)?.index ?? 0;
  return `Half a character stands at position ${at.toLocaleString()}: this cannot be kept exactly, so nothing was pasted.`;
}

/**
 * Finds the variables of a saved text, once.
 * @param {import("./text_source.js").TextSource} source
 * @param {string} sha256
 * @returns {Promise<boolean>} whether there are any that were not known
 */
export async function learnVariables(source, sha256) {
  if (home.variables[sha256]) return false;
  home.variables[sha256] = [];
  try {
    home.variables[sha256] = await source.variables();
  } catch {
    delete home.variables[sha256];
  }
  return (home.variables[sha256] ?? []).length > 0;
}
