/*
 * Where this page is in the stream of events for its person. The rule that loses nothing: an event counts only if it is
 * the one after the last.
 */

export class Inbox {
  constructor() {
    /** Up to here the page has everything; null before the first welcome. @type {number | null} */
    this.have = null;
  }

  /** @param {number} base where the server starts from: what this page said it has, or what was acknowledged before */
  begin(base) {
    this.have ??= base;
  }

  /** The server has no longer what this page would need. @param {number} base */
  reset(base) {
    this.have = base;
  }

  /**
   * A live event.
   * @param {number} seq
   * @returns {"next" | "seen" | "gap"} only "next" may be applied; after a "gap" the inbox has to be asked
   */
  take(seq) {
    if (this.have === null || seq > this.have + 1) return "gap";
    if (seq <= this.have) return "seen";
    this.have = seq;
    return "next";
  }

  /**
   * An event of a page, which is read from the inbox in order: what is missing there is no longer kept.
   * @param {number} seq
   * @returns {"next" | "seen" | "jump"} after a "jump" the history has what the events no longer tell
   */
  takeFromPage(seq) {
    const verdict = this.take(seq);
    if (verdict !== "gap") return verdict;
    this.have = seq;
    return "jump";
  }
}
