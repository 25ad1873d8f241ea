/*
 * Unsaved text, kept in this browser per person, prompt and base version: the copy that is there when the server is not. A
 * full store is not an error that costs anybody their work: `keep` says whether it worked.
 */

const PREFIX = "draft";
const OLDEST_MS = 60 * 24 * 3600 * 1000;

/**
 * @typedef {{
 *   base: number, spec: import("./spec.js").Spec | null, values: Record<string, string>, files: Record<string, any>,
 *   keptAt: string, tab: string,
 * }} Draft base: number of the version it was written on, 0 for none; tab: which one wrote it
 */
/** @typedef {Draft & {revision: number | null, synced: boolean}} Kept revision: of the server's draft it follows */

export class Drafts {
  /**
   * @param {string} promptId
   * @param {number} base
   * @param {string} [person]
   */
  constructor(promptId, base, person = document.documentElement.dataset.user ?? "") {
    this.key = `${PREFIX}:${person}:${promptId}:${base}`;
  }

  /** @returns {Kept | null} */
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {Kept} draft
   * @returns {boolean} whether it could be kept
   */
  keep(draft) {
    const text = JSON.stringify(draft);
    return this.#write(text) || (forgetOldest(this.key) && this.#write(text));
  }

  /** @param {string} text */
  #write(text) {
    try {
      localStorage.setItem(this.key, text);
      return true;
    } catch {
      return false;
    }
  }

  forget() {
    try {
      localStorage.removeItem(this.key);
    } catch {
      // A browser that refuses storage has nothing to forget.
    }
  }
}

/* Makes room: drafts that the server has, then those that nobody touched for two months. */
function forgetOldest(/** @type {string} */ except) {
  let freed = false;
  for (const key of Object.keys(localStorage).filter((name) => name.startsWith(`${PREFIX}:`) && name !== except)) {
    const text = localStorage.getItem(key) ?? "";
    const keptAt = /"keptAt":"([^"]+)"/.exec(text)?.[1];
    if (!text.endsWith('"synced":true}') && keptAt && Date.now() - Date.parse(keptAt) < OLDEST_MS) continue;
    localStorage.removeItem(key);
    freed = true;
  }
  return freed;
}
