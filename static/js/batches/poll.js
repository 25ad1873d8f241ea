/* Asking again and again: less often while nothing changes, not at all in a tab that nobody sees. */
import { ApiError } from "../api.js";

const FIRST_MS = 700;
const SLOWER = 1.3;
const LONGEST_MS = 6000;
const LONGEST_CUT_MS = 30_000;

/** @typedef {() => Promise<"changed" | "same" | "over">} Ask */

/**
 * How long to wait before asking again.
 * @param {number} before ms, the last wait
 * @param {"changed" | "same" | "cut"} came
 * @returns {number} ms
 */
export function nextWait(before, came) {
  if (came === "changed") return Math.max(FIRST_MS, Math.min(before, 2 * FIRST_MS));
  return Math.min(before * (came === "cut" ? 2 : SLOWER), came === "cut" ? LONGEST_CUT_MS : LONGEST_MS);
}

export class Poll {
  /**
   * @param {Ask} ask
   * @param {(error: unknown) => void} [onCut] the server cannot be reached, or will not answer
   */
  constructor(ask, onCut = () => {}) {
    this.ask = ask;
    this.onCut = onCut;
    this.wait = FIRST_MS;
    this.running = false;
    this.busy = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    document.addEventListener("visibilitychange", () => this.running && (document.hidden ? clearTimeout(this.timer) : this.soon()));
    window.addEventListener("online", () => this.running && this.soon());
  }

  start() {
    this.running = true;
    this.wait = FIRST_MS;
    this.#later();
  }

  stop() {
    this.running = false;
    clearTimeout(this.timer);
  }

  /** Asks at once: something was done, or somebody looks again. */
  soon() {
    this.wait = FIRST_MS;
    this.running = true;
    clearTimeout(this.timer);
    void this.#turn();
  }

  #later() {
    clearTimeout(this.timer);
    if (this.running && !document.hidden) this.timer = setTimeout(() => void this.#turn(), this.wait);
  }

  async #turn() {
    if (this.busy || !this.running) return;
    this.busy = true;
    try {
      const came = await this.ask();
      if (came === "over") this.running = false;
      else this.wait = nextWait(this.wait, came);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status >= 400 && error.status < 500 && error.status !== 429)) this.running = false;
      this.wait = nextWait(this.wait, "cut");
      this.onCut(error);
    }
    this.busy = false;
    this.#later();
  }
}
