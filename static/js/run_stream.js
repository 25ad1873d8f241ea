/* Follows one run by server-sent events until it is over. The browser reconnects with Last-Event-ID by itself. */
import { address, call } from "./api.js";
import { RunText } from "./run_text.js";

/**
 * @typedef {{
 *   id: string, status: string, text: string, model: string, stopReason: string, version?: number,
 *   error: {code: string, message: string} | null,
 *   usage: {input_tokens: number | null, output_tokens: number | null}, ttft_ms: number | null, tokens_per_s: number | null,
 * }} RunState
 */

export const OPEN = new Set(["queued", "running"]);

/**
 * @param {string} id
 * @param {string} [model]
 * @param {number} [version] its number
 * @returns {RunState}
 */
export function queuedRun(id, model = "", version = undefined) {
  const usage = { input_tokens: null, output_tokens: null };
  return { id, status: "queued", text: "", model, version, stopReason: "", error: null, usage, ttft_ms: null, tokens_per_s: null };
}

/**
 * A run as GET runs/{id} answers it.
 * @param {Record<string, any>} run
 * @returns {RunState}
 */
export function runState(run) {
  const timings = run.timings ?? run;
  return {
    id: run.id,
    status: run.status,
    text: run.output ?? "",
    model: run.model ?? "",
    stopReason: run.stop_reason ?? "",
    error: run.error ?? null,
    usage: run.usage ?? { input_tokens: null, output_tokens: null },
    ttft_ms: timings.ttft_ms ?? null,
    tokens_per_s: timings.tokens_per_s ?? null,
  };
}

export class RunStream {
  /**
   * @param {RunState} run
   * @param {{onText: (fresh: string) => void, onReplace: () => void, onState: () => void}} reader `onReplace`: all of `run.text` is new
   */
  constructor(run, reader) {
    this.run = run;
    this.reader = reader;
    this.pieces = new RunText();
    this.source = new EventSource(address(`runs/${run.id}/events`));
    const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ action) => {
      this.source.addEventListener(name, (event) => action(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    };
    on("status", (data) => this.#status(data.status));
    on("text", (data) => this.#text(data));
    on("reset", (data) => this.#replace(data.text));
    on("done", (data) => this.#done(data));
    on("ended", () => this.#ended());
    this.source.addEventListener("error", () => this.#onError());
  }

  /** @param {string} status */
  #status(status) {
    if (!OPEN.has(status) || status === this.run.status) return;
    this.run.status = status;
    this.reader.onState();
  }

  /** @param {{offset: number, text: string}} piece */
  #text({ offset, text }) {
    const fresh = this.pieces.append(offset, text);
    if (fresh === null) {
      void this.#catchUp();
      return;
    }
    this.#status("running");
    this.run.text = this.pieces.text;
    this.reader.onText(fresh);
  }

  /** @param {string} text */
  #replace(text) {
    this.pieces.reset(text);
    this.run.text = text;
    this.reader.onReplace();
  }

  /** @param {Record<string, any>} data */
  #done(data) {
    this.close();
    Object.assign(this.run, runState({ ...data, id: this.run.id, model: this.run.model, output: this.run.text }));
    this.reader.onState();
  }

  /* Access to the prompt was taken back: coming back would only be refused again. */
  #ended() {
    this.close();
    const error = { code: "access_ended", message: "This prompt is no longer shared with you." };
    Object.assign(this.run, { status: "lost", error });
    this.reader.onState();
  }

  /* A piece went missing: what the server has is the truth, and later pieces continue it. */
  async #catchUp() {
    const run = await call(`runs/${this.run.id}`).catch(() => null);
    if (run && this.isOpen && (run.output ?? "").length > this.run.text.length) this.#replace(run.output);
  }

  /* While the browser reconnects there is nothing to do; when it gave up, the run itself says how it went. */
  async #onError() {
    if (this.source.readyState !== EventSource.CLOSED) return;
    try {
      const run = runState(await call(`runs/${this.run.id}`));
      Object.assign(this.run, run);
      this.#replace(run.text);
      this.reader.onState();
    } catch (error) {
      Object.assign(this.run, { status: "lost", error: { code: "unreachable", message: /** @type {Error} */ (error).message } });
      this.reader.onState();
    }
  }

  get isOpen() {
    return this.source.readyState !== EventSource.CLOSED;
  }

  close() {
    this.source.close();
  }
}
