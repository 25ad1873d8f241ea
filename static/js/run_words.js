/* The words of a run: its state, what went wrong, what can be done, the facts beneath it. Pure. */

/** @typedef {import("./run_stream.js").RunState} RunState */

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
});

const AGAIN = "Run it again in a moment. If it goes on, the model server needs a look.";
const CHANGE = "Change the prompt or its parameters, then run it again.";

/** What can be done, by the code of the error. */
const NEXT = /** @type {Record<string, string>} */ ({
  invalid_request: CHANGE,
  unauthorized: "The key of this server needs a look by whoever runs it.",
  rate_limited: "Wait a moment, then run it again.",
  upstream_overloaded: AGAIN,
  inference_unavailable: AGAIN,
  timeout: "Run it again, or ask for fewer tokens.",
  stream_cut: AGAIN,
  worker_lost: "Run it again.",
  unreachable: "Reload the page: the run goes on without it.",
});

/** @param {string} status */
export function stateWord(status) {
  return STATES[status] ?? status;
}

/** @param {string} reason */
export function stopWord(reason) {
  return STOPS[reason] ?? reason.replaceAll("_", " ");
}

/**
 * What to say about a run besides its text; null when the text says it all.
 * @param {RunState} run
 * @returns {{tone: "bad" | "warn" | "plain", title: string, message: string, next: string} | null}
 */
export function problemOf(run) {
  const kept = run.text ? "The text that had arrived is kept above. " : "";
  if (run.status === "failed" || run.status === "lost") {
    const code = run.error?.code ?? "";
    const next = NEXT[code] ?? "Run it again. If it fails twice, the Wire tab shows what was sent.";
    const title = run.status === "lost" ? "The connection to this run was lost" : "The run failed";
    return { tone: "bad", title, message: run.error?.message ?? "No reason was given.", next: kept + next };
  }
  if (run.status === "cancelled") {
    const message = run.text ? "What had arrived by then is kept above." : "Nothing had arrived by then.";
    return { tone: "plain", title: "Stopped", message, next: "" };
  }
  if (run.status !== "succeeded") return null;
  if (run.text === "") {
    const message = `Stop reason: ${stopWord(run.stopReason || "none given")}.`;
    return { tone: "warn", title: "The model answered with nothing", message, next: "" };
  }
  if (run.stopReason === "max_tokens") {
    return { tone: "warn", title: "Cut at the token limit", message: "Raise max tokens for a longer answer.", next: "" };
  }
  return null;
}

/**
 * @param {RunState} run
 * @returns {[string, string][]} pairs of name and value for the row beneath the text
 */
export function factsOf(run) {
  const { input_tokens: input, output_tokens: output } = run.usage;
  /** @type {[string, string | null][]} */
  const facts = [
    ["Version", run.version ? `v${run.version}` : null],
    ["First token", run.ttft_ms === null ? null : seconds(run.ttft_ms)],
    ["Speed", run.tokens_per_s === null ? null : `${Math.round(run.tokens_per_s * 10) / 10} tokens/s`],
    ["In", input === null || input === undefined ? null : input.toLocaleString()],
    ["Out", output === null || output === undefined || (output === 0 && run.text) ? null : output.toLocaleString()],
    ["Stop", run.stopReason ? stopWord(run.stopReason) : null],
    ["Model", run.model || null],
  ];
  return /** @type {[string, string][]} */ (facts.filter(([, value]) => value !== null));
}

/** @param {number} ms */
function seconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
