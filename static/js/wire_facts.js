/* What the Wire tab says about a run, each fact with its name. Pure. */
import { costOf, money, priceOf } from "./prices.js";
import { duration, speed, stateWord, stopWord } from "./run_words.js";

/** @param {unknown} value @param {(value: any) => string} words */
function told(value, words) {
  return value === null || value === undefined || value === "" ? null : words(value);
}

/** @param {string} time */
function moment(time) {
  return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** @param {number} count */
const counted = (count) => count.toLocaleString();

/**
 * @param {Record<string, any>} run as GET runs/{id} answers it
 * @returns {[string, string][]} pairs of name and value; what is not known is left out
 */
export function wireFacts(run) {
  const { timings, usage } = run;
  const upstream = run.wire_response?.usage ?? {};
  const stop = told(run.stop_reason, (reason) => (stopWord(reason) === reason ? reason : `${reason} (${stopWord(reason)})`));
  const cost = run.cost_usd ?? costOf(priceOf(run.model), usage.input_tokens, usage.output_tokens);
  /** @type {[string, string | null][]} */
  const facts = [
    ["Status", stateWord(run.status)],
    ["Model", run.model],
    ["Provider", told(run.provider, String)],
    ["Run", run.id],
    ["Request hash", told(run.request_sha256, (hash) => `SHA-256 ${hash}`)],
    ["Upstream request id", told(run.upstream_request_id, String)],
    ["Stop reason", stop],
    ["Stop sequence", told(run.wire_response?.stop_sequence, (text) => JSON.stringify(text))],
    ["Error", told(run.error, ({ code, message }) => `${code}: ${message}`)],
    ["Input tokens", told(usage.input_tokens, counted)],
    ["of them written to the cache", told(upstream.cache_creation_input_tokens || null, counted)],
    ["of them read from the cache", told(upstream.cache_read_input_tokens || null, counted)],
    ["Output tokens", told(usage.output_tokens, counted)],
    ["Cost", told(cost, money)],
    ["Queue time", told(timings.queue_ms, duration)],
    ["Time to first token", told(timings.ttft_ms, duration)],
    ["Tokens per second", told(timings.tokens_per_s, speed)],
    ["Queued at", moment(timings.queued_at)],
    ["Ended at", told(timings.finished_at, moment)],
  ];
  return /** @type {[string, string][]} */ (facts.filter(([, value]) => value !== null));
}

/**
 * The head of the request as it went out, the key left out.
 * @param {Record<string, string>} headers
 */
export function headWords(headers) {
  const lines = Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${value}`);
  return ["POST /v1/messages", "content-type: application/json", ...lines, "(the key is never shown)"].join("\n");
}
