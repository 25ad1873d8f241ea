/* A batch in words: its state, how far it is, its cells and their checks. Pure. */
import { aboutWords } from "./durations.js";

/**
 * @typedef {"waiting" | "running" | "checking" | "done" | "passed" | "failed" | "error" | "cancelled"} CellStatus
 * @typedef {{verdict: "pass" | "fail" | "error" | "skip", reason: string}} Verdict
 * @typedef {{id: string, status: CellStatus, run: string | null, attempt: number, excerpt: string, output_chars: number, stop_reason: string | null,
 *   checks: (Verdict | null)[], error: {code: string, message: string} | null, ttft_ms: number | null, duration_ms: number | null,
 *   input_tokens: number | null, output_tokens: number | null, output?: string, run_visible?: boolean}} Cell
 * @typedef {{index: number, values: Record<string, unknown>, cut: boolean, expected: string | null, different: boolean, cells: (Cell | null)[]}} ResultRow
 * @typedef {Record<"total" | "not_sent" | "waiting" | "running" | "checking" | "done" | "passed" | "failed" | "error" | "cancelled", number>} Counts
 * @typedef {{position: number, total: number, ended: number, passed: number, failed: number, error: number, cancelled: number, pass_rate: number | null,
 *   checks: {index: number, pass: number, fail: number, error: number, skip: number}[], input_tokens: number, output_tokens: number,
 *   ttft_ms: {median: number, p95: number} | null, duration_ms: {median: number, p95: number} | null, cost_usd: number | null}} VersionSummary
 * @typedef {{id: string, prompt: string, name: string, state: "running" | "paused" | "cancelled" | "finished", paused_because: {code: string, message: string} | null,
 *   held_until: string | null, dataset: {id: string, name: string} | null, columns: string[], has_expected: boolean, mine: boolean,
 *   can: {control: boolean, cancel: boolean, delete: boolean}, versions: {position: number, number: number, pointer: string, model: string, parameters: Record<string, unknown>, label: string}[],
 *   checks: {kind: string, index: number, name: string, label: string}[], rows: number, counts: Counts, ended: number, rate_per_minute: number | null,
 *   seconds_left: number | null, created_at: string, finished_at: string | null, summary: VersionSummary[]}} Batch
 */

/** @type {Record<Batch["state"], string>} */
const STATES = { running: "Running", paused: "Paused", cancelled: "Cancelled", finished: "Finished" };

/** @type {Record<CellStatus, {word: string, icon: string, tone: string}>} */
export const CELLS = {
  waiting: { word: "To be tried again", icon: "clock", tone: "busy" },
  running: { word: "Running", icon: "play", tone: "busy" },
  checking: { word: "Being checked", icon: "clock", tone: "busy" },
  done: { word: "Answered", icon: "check", tone: "plain" },
  passed: { word: "Passed", icon: "circle-check", tone: "good" },
  failed: { word: "Failed", icon: "x", tone: "bad" },
  error: { word: "Error", icon: "triangle-alert", tone: "warn" },
  cancelled: { word: "Cancelled", icon: "ban", tone: "plain" },
};

/** @type {Record<Verdict["verdict"], {word: string, icon: string, tone: string}>} */
const VERDICTS = {
  pass: { word: "passed", icon: "check", tone: "good" },
  fail: { word: "failed", icon: "x", tone: "bad" },
  error: { word: "could not be judged", icon: "triangle-alert", tone: "warn" },
  skip: { word: "skipped", icon: "ban", tone: "plain" },
};

/** Of a check that is still to be judged. */
const AWAITED = { word: "being judged", icon: "clock", tone: "busy" };

/** @param {Verdict | null} verdict null while a model is asked */
export function verdictWords(verdict) {
  return verdict ? VERDICTS[verdict.verdict] : AWAITED;
}

/** @param {Batch} batch */
export function stateWords({ state, held_until: held }) {
  return state === "running" && held ? "Waiting for the model" : STATES[state];
}

/**
 * A version as it was asked for: a label or a branch goes with the number that it stood for.
 * @param {Pick<Batch["versions"][number], "label" | "pointer" | "number">} version
 */
export function versionWords({ label, pointer, number }) {
  return /^\d+$/.test(pointer) || label.includes(pointer) ? label : `${pointer}: ${label || `v${number}`}`;
}

/**
 * The state as the mark of runs draws it: green only if nothing went wrong.
 * @param {Batch} batch
 */
export function stateMark({ state, counts }) {
  if (state === "finished") return counts.error + counts.failed > 0 ? "clean" : "succeeded";
  return state === "paused" ? "idle" : state;
}

/**
 * Why a batch stands still, and what can be done; "" if it does not.
 * @param {Batch} batch
 */
export function heldWords({ state, paused_because: why, held_until: held, counts }) {
  const kept = "Every answer so far is kept.";
  if (state === "paused") return why && why.code !== "person" ? `${why.message} ${kept} Resume goes on where it stopped.` : "";
  if (state === "running" && held) return `The model cannot be reached. ${kept} It goes on by itself once the model answers.`;
  if (state === "cancelled" && counts.cancelled + counts.not_sent > 0) return `${kept} What was not sent stays unsent: “New batch like this” in the menu begins anew.`;
  return "";
}

/**
 * The line under the bar, in pairs of a number and its word.
 * @param {Batch} batch
 * @returns {[string, string][]}
 */
export function progressFacts({ state, counts, ended, rate_per_minute: rate, seconds_left: left }) {
  const judged = counts.passed + counts.failed > 0;
  /** @type {[number, string][]} */
  const facts = [
    [counts.passed, "passed"],
    [counts.failed, "failed"],
    [counts.done, "answered"],
    [counts.error, counts.error === 1 ? "error" : "errors"],
    [counts.running + counts.checking, "running"],
    [counts.waiting, "to be tried again"],
    [counts.cancelled, "cancelled"],
  ];
  const shown = facts.filter(([count, word]) => count > 0 || (judged && (word === "passed" || word === "failed")));
  /** @type {[string, string][]} */
  const words = shown.map(([count, word]) => [count.toLocaleString(), word]);
  if (counts.not_sent > 0 && state !== "cancelled") words.push([counts.not_sent.toLocaleString(), "to go"]);
  if (state === "running" && rate !== null && rate > 0) words.push([rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString(), "a minute"]);
  if (state === "running" && left !== null && ended < counts.total) words.push(["", `${aboutWords(left)} left`]);
  return words;
}

/**
 * What a retry would send again.
 * @param {Counts} counts
 * @returns {string} "" for nothing
 */
export function retryWords({ error, cancelled }) {
  const again = error + cancelled;
  return again > 0 ? `Retry ${again.toLocaleString()}` : "";
}
