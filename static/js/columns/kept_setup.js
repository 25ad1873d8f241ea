/* What was set up and not yet run: kept in this tab, so that a reload or the way back loses nothing. */

/** @typedef {import("./overrides.js").Column} Column */
/** @typedef {{columns: Column[], repetitions: number}} Setup */

export class KeptSetup {
  /** @param {string} promptId @param {string} [asked] the query of the page: other versions are another setup */
  constructor(promptId, asked = location.search) {
    this.key = `columns:${promptId}:${asked}`;
  }

  /** @returns {Setup | null} */
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key) ?? "null");
    } catch {
      return null;
    }
  }

  /** @param {Setup} setup */
  keep(setup) {
    try {
      sessionStorage.setItem(this.key, JSON.stringify(setup));
    } catch {
      // A full storage loses no more than a setup that was never kept.
    }
  }
}
