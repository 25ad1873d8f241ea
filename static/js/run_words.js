/* The words of a run: its state, what went wrong, what can be done, the facts beneath it. Pure. */
import { costOf, money, priceOf } from "./prices.js";

/** @typedef {import("./run_stream.js").RunState} RunState */
/** @typedef {"raise_tokens"} Action what the page can do about it */
/** @typedef {{tone: "bad" | "warn" | "plain", title: string, message: string, next: string, action?: Action}} Problem */

const STATES = /** @type {Record<string, string>} */ ({
  idle: "Not run yet",
  queued: "Queued",
  running: "Running",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Stopped",
  lost: "Connection lost",
});

const STOPS = /** @type {Record<string, string>} */ ({
  end_turn: "end of turn",
  max_tokens: "token limit reached",
  stop_sequence: "stop sequence",
  tool_use: "wants a tool",
  refusal: "refused",
  pause_turn: "paused",
  model_context_window_exceeded: "context window full",
});

const AGAIN = "Run it again in a moment. If it goes on, the provider needs a look.";
const CHANGE = "Change the prompt or its parameters, then run it again.";

/** What can be done, by the code of the error. */
const NEXT = /** @type {Record<string, string>} */ ({
  invalid_request: CHANGE,
  unauthorized: "The key of this server needs a look by whoever runs it.",
  provider_key_missing: "Add your own key under Account > Providers, or choose another model.",
  provider_key_refused: "Look at the key under Account > Providers, and replace it if it is yours.",
  rate_limited: "Wait a moment, then run it again.",
  upstream_overloaded: AGAIN,
  inference_unavailable: AGAIN,
  timeout: "Run it again, or ask for fewer tokens.",
  stream_cut: AGAIN,
  worker_lost: "Run it again. If it happens twice, the worker's log says why it died.",
  access_ended: "Ask its owner to share it again.",
  unreachable: "Reload the page: the run goes on without it.",
});

/** What failed, by the code of the error, where the code says more than when it happened. */
const TITLES = /** @type {Record<string, string>} */ ({
  worker_lost: "The worker was lost",
  inference_unavailable: "The provider does not answer",
  upstream_overloaded: "The provider is overloaded",
  rate_limited: "The provider takes no more requests for now",
  unauthorized: "The provider did not accept the key",
  access_ended: "Your access has ended",
  provider_key_missing: "There is no key for this provider",
  provider_key_refused: "The provider did not accept the key",
  invalid_request: "The provider refused the request",
});

/** @param {string} status */
export function stateWord(status) {
  return STATES[status] ?? status;
}

/** @param {string} reason */
export function stopWord(reason) {
  return STOPS[reason] ?? reason.replaceAll("_", " ");
}

/** What a model does before its text, by the block that it has begun. */
const BEGUN = /** @type {Record<string, string>} */ ({ thinking: "Thinking", redacted_thinking: "Thinking", tool_use: "Writing the call of a tool" });

/** A queue in which nothing moves for so long has nobody at its end. */
const UNTAKEN_S = 20;

/**
 * What to say while there is no text yet.
 * @param {RunState} run that goes on
 * @param {number} seconds since it was queued
 * @param {{count: number, isMore: boolean} | null} before the runs of the same person that were queued earlier
 */
export function waitingWords(run, seconds, before) {
  const time = `${seconds.toFixed(1)} s`;
  if (run.status !== "queued") return `${BEGUN[run.block] ?? "Waiting for the first token"}, ${time}.`;
  if (before && before.count > 0) {
    const runs = before.count === 1 ? "1 run of yours waits" : `${before.count.toLocaleString()}${before.isMore ? " or more" : ""} runs of yours wait`;
    return `Queued, ${time}. ${runs} before it.`;
  }
  if (seconds < UNTAKEN_S) return `Queued, ${time}. It is sent as soon as a worker is free.`;
  return `Queued, ${time}. No worker has taken it yet: all are busy, or none is running. You may stop it; nothing was sent.`;
}

/** @param {RunState} run @returns {Problem} */
function failure(run) {
  const kept = run.text ? "The text that had arrived is kept above. " : "";
  const code = run.error?.code ?? "";
  const next = NEXT[code] ?? "Run it again. If it fails twice, the Wire tab shows what was sent.";
  const message = run.error?.message ?? "No reason was given.";
  const otherwise = run.text ? "The answer broke off" : "The run failed before its first token";
  const title = TITLES[code] ?? (run.status === "lost" ? "The connection to this run was lost" : otherwise);
  return { tone: "bad", title, message, next: kept + next };
}

/** @param {RunState} run @returns {Problem} */
function emptiness(run) {
  const message = `Stop reason: ${stopWord(run.stopReason || "none given")}.`;
  const title = "Empty answer";
  if (run.stopReason === "max_tokens") {
    const next = "All its tokens went elsewhere, such as into thinking. Raise max tokens.";
    return { tone: "warn", title, message, next, action: "raise_tokens" };
  }
  const next = "The model ended its turn at once. A last message that reads like a finished answer, or a stop sequence, does that.";
  return { tone: "warn", title, message, next };
}

/** How an answer may end that is neither an error nor simply its end. @type {Record<string, (run: RunState) => Problem>} */
const ENDINGS = {
  max_tokens: () => ({
    tone: "warn",
    title: "Cut off at the token limit",
    message: "The answer is not finished.",
    next: "Raise max tokens and run it again.",
    action: "raise_tokens",
  }),
  refusal: (run) => ({
    tone: "warn",
    title: "Refused",
    message: `The model, or a safety rule before it, declined to ${run.text ? "go on" : "answer"}.`,
    next: `${run.text ? "What it had written by then is kept above. " : ""}Change what is asked, then run it again.`,
  }),
  stop_sequence: (run) => ({
    tone: "plain",
    title: "Ended at a stop sequence",
    message: run.stopSequence ? `The model was about to write ${JSON.stringify(run.stopSequence)}.` : "",
    next: "",
  }),
  tool_use: () => ({
    tone: "plain",
    title: "The model calls a tool",
    message: "It waits for the result, and goes on when it has it.",
    next: "",
  }),
  pause_turn: () => ({ tone: "plain", title: "The turn is paused", message: "The model would go on if it were asked to.", next: "" }),
  model_context_window_exceeded: () => ({
    tone: "warn",
    title: "The context window is full",
    message: "The answer is not finished.",
    next: "Shorten the prompt, or choose a model with a larger context.",
  }),
};

/**
 * What to say about a run besides its text; null when the text says it all.
 * @param {RunState} run
 * @returns {Problem | null}
 */
export function problemOf(run) {
  if (run.status === "failed" || run.status === "lost") return failure(run);
  if (run.status === "cancelled") {
    const message = run.text ? "What had arrived by then is kept above." : "No text had arrived by then.";
    return { tone: "plain", title: "Stopped", message, next: "" };
  }
  if (run.status !== "succeeded") return null;
  const isOwnEnding = run.stopReason === "refusal" || run.stopReason === "tool_use";
  if (run.text === "" && !isOwnEnding) return emptiness(run);
  return ENDINGS[run.stopReason]?.(run) ?? null;
}

/**
 * @param {RunState} run
 * @returns {[string, string][]} pairs of name and value for the row beneath the text
 */
export function factsOf(run) {
  const { input_tokens: input, output_tokens: output } = run.usage;
  const cost = run.cost ?? costOf(priceOf(run.model), input, output);
  /** @type {[string, string | null][]} */
  const facts = [
    ["Version", run.version ? `v${run.version}` : null],
    ["First token", run.ttft_ms === null ? null : duration(run.ttft_ms)],
    ["Speed", run.tokens_per_s === null ? null : speed(run.tokens_per_s)],
    ["In", input === null || input === undefined ? null : input.toLocaleString()],
    ["Out", output === null || output === undefined || (output === 0 && run.text) ? null : output.toLocaleString()],
    ["Cost", cost === null ? null : money(cost)],
    ["Stop", run.stopReason ? stopWord(run.stopReason) : null],
    ["Model", run.model || null],
  ];
  return /** @type {[string, string][]} */ (facts.filter(([, value]) => value !== null));
}

/** @param {number} perSecond */
export function speed(perSecond) {
  return `${Math.round(perSecond * 10) / 10} tokens/s`;
}

/** @param {number} ms */
export function duration(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
