/* Follows one run by server-sent events until it is over. The browser reconnects with Last-Event-ID by itself. */
import { address, ApiError, call } from "./api.js";
import { RunText } from "./run_text.js";

/**
 * @typedef {{
 *   id: string, status: string, text: string, model: string, stopReason: string, version?: number,
 *   error: {code: string, message: string} | null,
 *   usage: {input_tokens: number | null, output_tokens: number | null}, ttft_ms: number | null, tokens_per_s: number | null,
 *   queuedAt: string, cost: number | null, block: string, stopSequence: string, structured: Structured | null, response: Record<string, any> | null, content: Block[] | null,
 * }} RunState `response`: as it came over the wire, null before the end. `content`: its blocks, null if text is all there is.
 *   `queuedAt`: "" where only its stream is known. `cost`: USD by the prices at its end. `block`: the type of the last block that began and is not text.
 *
 * A content block of the Messages API.
 * @typedef {{type: string, [name: string]: any}} Block
 * @typedef {{valid: boolean | null, errors: {path: string, message: string}[], place: {line: number, column: number} | null}} Structured
 */

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;

export const OPEN = new Set(["queued", "running"]);

/**
 * @param {string} id
 * @param {string} [model]
 * @param {number} [version] its number
 * @returns {RunState}
 */
export function queuedRun(id, model = "", version = undefined) {
  return { ...runState({ id, status: "queued", model }), version };
}

/**
 * A run as GET runs/{id} answers it.
 * @param {Record<string, any>} run
 * @returns {RunState}
 */
export function runState(run) {
  const timings = run.timings ?? run;
  const response = run.wire_response ?? null;
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
    queuedAt: timings.queued_at ?? "",
    cost: run.cost_usd ?? null,
    block: "",
    stopSequence: response?.stop_sequence ?? "",
    structured: run.structured ?? null,
    response,
    content: blocksOf(response),
  };
}

/** @param {Record<string, any> | null} response @returns {Block[] | null} */
function blocksOf(response) {
  const blocks = response?.content;
  if (!Array.isArray(blocks) || (blocks.length < 2 && blocks.every(({ type }) => type === "text"))) return null;
  return blocks;
}

/**
 * A run as it is now, without the request that it sent.
 * @param {string} id
 * @returns {Promise<RunState>} rejects with the server's reason
 */
export async function fetchRun(id) {
  return runState(await call(`runs/${encodeURIComponent(id)}?leave_out=request`));
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
    /** Whether the network is cut, and coming back is tried. */
    this.isAway = false;
    this.isOver = false;
    this.lastId = "";
    this.tries = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.leaving = new AbortController();
    // A connection that outlived its network stays silent for minutes before the browser gives it up.
    window.addEventListener("offline", () => this.#setAway(true), { signal: this.leaving.signal });
    window.addEventListener("online", () => this.#connect(), { signal: this.leaving.signal });
    this.source = this.#connect();
  }

  /** Follows from the last event that arrived. */
  #connect() {
    clearTimeout(this.timer);
    this.source?.close();
    const query = this.lastId ? `?${new URLSearchParams({ last_event_id: this.lastId })}` : "";
    const source = new EventSource(address(`runs/${this.run.id}/events${query}`));
    const on = (/** @type {string} */ name, /** @type {(data: any) => void} */ action) => {
      source.addEventListener(name, (event) => {
        const { data, lastEventId } = /** @type {MessageEvent} */ (event);
        if (lastEventId) this.lastId = lastEventId;
        action(JSON.parse(data));
      });
    };
    on("status", (data) => this.#status(data.status));
    on("block", (data) => {
      this.run.block = data.type;
      this.#status("running");
    });
    on("text", (data) => this.#text(data));
    on("reset", (data) => this.#replace(data.text));
    on("done", (data) => this.#done(data));
    on("ended", () => this.#ended());
    source.addEventListener("error", () => this.#onError());
    source.addEventListener("open", () => {
      this.tries = 0;
      this.#setAway(false);
    });
    this.source = source;
    return source;
  }

  /** @param {boolean} isAway */
  #setAway(isAway) {
    if (isAway === this.isAway) return;
    this.isAway = isAway;
    this.reader.onState();
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
    void this.#complete();
  }

  /* What the stream does not carry: blocks besides text, the verdict on a structured answer. */
  async #complete() {
    const run = await fetchRun(this.run.id).catch(() => null);
    if (!run) return;
    const isLonger = run.text !== this.run.text;
    Object.assign(this.run, run);
    if (isLonger) this.#replace(run.text);
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
    const run = await fetchRun(this.run.id).catch(() => null);
    if (run && this.isOpen && run.text.length > this.run.text.length) this.#replace(run.text);
  }

  /* The browser comes back by itself from a cut. When it gave up, the run says how it went, and if it goes on, we come back. */
  async #onError() {
    this.#setAway(true);
    if (this.source.readyState !== EventSource.CLOSED) return;
    try {
      const run = await fetchRun(this.run.id);
      if (this.isOver) return;
      if (OPEN.has(run.status)) this.#comeBack();
      else this.#end(run);
    } catch (error) {
      if (this.isOver) return;
      const { status, message } = /** @type {ApiError} */ (error);
      const isRefused = error instanceof ApiError && status >= 400 && status < 500 && status !== 429;
      if (!isRefused) this.#comeBack();
      else this.#end({ status: "lost", error: { code: "unreachable", message } });
    }
  }

  #comeBack() {
    this.timer = setTimeout(() => this.#connect(), Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.tries));
    this.tries += 1;
  }

  /** @param {Partial<RunState>} end */
  #end(end) {
    this.close();
    Object.assign(this.run, end);
    if (end.text !== undefined) this.#replace(end.text);
    this.reader.onState();
  }

  get isOpen() {
    return this.source.readyState !== EventSource.CLOSED;
  }

  close() {
    this.isOver = true;
    this.isAway = false;
    clearTimeout(this.timer);
    this.leaving.abort();
    this.source.close();
  }
}
