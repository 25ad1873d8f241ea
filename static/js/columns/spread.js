/* How the answers of a column spread: least, median and most of each figure, and how many are the same. Pure. */

/**
 * A run as GET comparisons/{id} tells it.
 * @typedef {{
 *   id: string, repetition: number, attempt: number, status: string, model: string, stop_reason: string | null,
 *   error: {code: string, message: string} | null,
 *   usage: {input_tokens: number | null, output_tokens: number | null},
 *   timings: {queued_at: string, started_at: string | null, first_token_at: string | null, finished_at: string | null,
 *     ttft_ms: number | null, tokens_per_s: number | null},
 *   output_chars: number | null, output_digest: string,
 * }} ComparedRun
 */
/** @typedef {{least: number, median: number, most: number, count: number}} Spread */

export const ENDED = new Set(["succeeded", "failed", "cancelled"]);

/**
 * @param {(number | null | undefined)[]} values those that are not known are left out
 * @returns {Spread | null} null when none is known
 */
export function spreadOf(values) {
  const known = values.filter((value) => typeof value === "number" && Number.isFinite(value)).sort((a, b) => Number(a) - Number(b));
  if (known.length === 0) return null;
  const numbers = /** @type {number[]} */ (known);
  const middle = (numbers.length - 1) / 2;
  const median = (numbers[Math.floor(middle)] + numbers[Math.ceil(middle)]) / 2;
  return { least: numbers[0], median, most: numbers[numbers.length - 1], count: numbers.length };
}

/**
 * From being sent to the first token. The time in the queue is left out: it tells of the queue, not of the column.
 * @param {ComparedRun} run
 * @returns {number | null} ms
 */
export function firstTokenMs({ timings }) {
  if (!timings.started_at || !timings.first_token_at) return null;
  return Math.max(0, Date.parse(timings.first_token_at) - Date.parse(timings.started_at));
}

/** How long it waited for its turn. @param {ComparedRun} run @returns {number} ms */
export function queuedMs({ timings }) {
  return timings.started_at ? Math.max(0, Date.parse(timings.started_at) - Date.parse(timings.queued_at)) : 0;
}

/**
 * Only runs that came to their end are measured: a failed one has no length that could be compared.
 * @param {ComparedRun[]} runs
 * @returns {{name: string, unit: "ms" | "per_s" | "tokens" | "chars", spread: Spread | null}[]}
 */
export function figuresOf(runs) {
  const good = runs.filter((run) => run.status === "succeeded");
  return [
    { name: "First token", unit: "ms", spread: spreadOf(good.map(firstTokenMs)) },
    { name: "Tokens/s", unit: "per_s", spread: spreadOf(good.map((run) => run.timings.tokens_per_s)) },
    { name: "Tokens out", unit: "tokens", spread: spreadOf(good.map((run) => run.usage.output_tokens)) },
    { name: "Characters", unit: "chars", spread: spreadOf(good.map((run) => run.output_chars)) },
  ];
}

/**
 * Which answers are the same: a letter for each run that succeeded, equal for equal answers, "a" for the first.
 * @param {ComparedRun[]} runs
 * @returns {Map<string, string>} by run id
 */
export function groupsOf(runs) {
  /** @type {Map<string, string>} */
  const letters = new Map();
  const found = runs.filter((run) => run.status === "succeeded").map((run) => {
    const letter = letters.get(run.output_digest) ?? String.fromCharCode("a".charCodeAt(0) + letters.size);
    letters.set(run.output_digest, letter);
    return /** @type {const} */ ([run.id, letter]);
  });
  return new Map(found);
}

/**
 * The state of a column, or of all of them.
 * @param {ComparedRun[]} runs
 * @returns {{state: string, done: number, total: number, failed: number, open: number}} `state` as a single run has it
 */
export function stateOf(runs) {
  const of = (/** @type {string} */ status) => runs.filter((run) => run.status === status).length;
  const [queued, running, failed, cancelled] = ["queued", "running", "failed", "cancelled"].map(of);
  const counts = { done: runs.length - queued - running, total: runs.length, failed, open: queued + running };
  if (runs.length === 0) return { state: "idle", ...counts };
  if (counts.open > 0) return { state: running > 0 || counts.done > 0 ? "running" : "queued", ...counts };
  if (failed > 0) return { state: "failed", ...counts };
  return { state: cancelled > 0 ? "cancelled" : "succeeded", ...counts };
}

/**
 * @param {ReturnType<typeof stateOf>} told
 * @returns {string}
 */
export function stateWords({ state, done, total, failed, open }) {
  if (state === "idle") return "Not run yet";
  const of = total > 1 ? ` ${done.toLocaleString()} of ${total.toLocaleString()}` : "";
  if (open > 0) return state === "queued" ? "Queued" : `Running${of}`;
  if (failed > 0) return total > 1 ? `${failed.toLocaleString()} of ${total.toLocaleString()} failed` : "Failed";
  return state === "cancelled" ? "Stopped" : "Done";
}

/**
 * @param {number} value
 * @param {"ms" | "per_s" | "tokens" | "chars"} unit
 * @returns {string}
 */
export function figure(value, unit) {
  if (unit === "ms") return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
  const digits = unit === "per_s" || !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString(undefined, { maximumFractionDigits: digits });
}
