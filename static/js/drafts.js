/*
 * Unsaved text, kept in this browser per person, prompt and base version until it is saved. A full store is not an
 * error that costs anybody their work: `keep` says whether it worked, and the page warns before it is left.
 */

const PREFIX = "draft";
const OLDEST_MS = 60 * 24 * 3600 * 1000;

/** @typedef {{base: number, spec: import("./spec.js").Spec | null, values: Record<string, string>, keptAt: string}} Draft */

export class Drafts {
  /**
   * @param {string} promptId
   * @param {string} [person]
   */
  constructor(promptId, person = document.documentElement.dataset.user ?? "") {
    this.key = `${PREFIX}:${person}:${promptId}`;
  }

  /** @returns {Draft | null} */
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {Omit<Draft, "keptAt">} draft
   * @returns {boolean} whether it could be kept
   */
  keep(draft) {
    const text = JSON.stringify({ ...draft, keptAt: new Date().toISOString() });
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

/* Makes room: drafts that nobody touched for two months. */
function forgetOldest(/** @type {string} */ except) {
  let freed = false;
  for (const key of Object.keys(localStorage).filter((name) => name.startsWith(`${PREFIX}:`) && name !== except)) {
    const keptAt = /"keptAt":"([^"]+)"/.exec(localStorage.getItem(key) ?? "")?.[1];
    if (keptAt && Date.now() - Date.parse(keptAt) < OLDEST_MS) continue;
    localStorage.removeItem(key);
    freed = true;
  }
  return freed;
}
