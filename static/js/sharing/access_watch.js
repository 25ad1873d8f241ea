/*
 * Asks every few seconds whether this page may still be shown, and tells when it may not. What cannot be asked is not
 * taken for a yes: after the stated bound the page is covered until the server answers again.
 */

/** @typedef {"shown" | "covered" | "ended"} State */

const EVERY_MS = 8000;
/* Of a bound of 0, which the socket keeps: not asked more often, and not covered sooner, than an answer may take. */
const SHORTEST_EVERY_MS = 2000;
const SHORTEST_BOUND_MS = 10_000;

export class AccessWatch {
  /**
   * @param {() => Promise<any>} ask rejects with an error whose `status` is 404, 403 or 401 once access is over
   * @param {{boundMs: number, onAnswer?: (answer: any) => void, onState: (state: State) => void}} options
   */
  constructor(ask, { boundMs, onAnswer = () => {}, onState }) {
    this.ask = ask;
    this.boundMs = Math.max(SHORTEST_BOUND_MS, boundMs);
    this.everyMs = Math.max(SHORTEST_EVERY_MS, Math.min(EVERY_MS, boundMs / 3));
    this.onAnswer = onAnswer;
    this.onState = onState;
    /** @type {State} */
    this.state = "shown";
    this.allowedAt = performance.now();
    this.busy = false;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.timer = undefined;
  }

  start() {
    this.timer = setInterval(() => void this.check(), this.everyMs);
    // A page in the background is asked about rarely; what it shows may be old when somebody comes back to it.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.#coverIfOld();
      void this.check();
    });
    window.addEventListener("pageshow", (event) => event.persisted && void this.check());
  }

  #coverIfOld() {
    if (performance.now() - this.allowedAt > this.boundMs && this.state === "shown") this.#become("covered");
  }

  /** @param {State} state */
  #become(state) {
    if (this.state === state || this.state === "ended") return;
    this.state = state;
    if (state === "ended") clearInterval(this.timer);
    this.onState(state);
  }

  async check() {
    if (this.busy || this.state === "ended") return;
    this.busy = true;
    const asked = performance.now();
    try {
      const answer = await this.ask();
      // Stamped before the question: an answer that took long is as old as its question.
      this.allowedAt = asked;
      this.#become("shown");
      this.onAnswer(answer);
    } catch (error) {
      const { status } = /** @type {{status?: number}} */ (error);
      if (status === 404 || status === 403 || status === 401) this.#become("ended");
    }
    this.busy = false;
    this.#coverIfOld();
  }
}

/**
 * Rejects if there is no answer in time: one that never comes must not keep the next question from being asked.
 * @param {string} path
 * @param {number} withinMs
 */
export async function askWithin(path, withinMs) {
  const response = await fetch(path, { headers: { Accept: "application/json" }, cache: "no-store", signal: AbortSignal.timeout(withinMs) });
  if (!response.ok) throw Object.assign(new Error("refused"), { status: response.status });
  return response.json();
}
