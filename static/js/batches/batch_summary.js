/* The small picture of a batch: for each version the share that passed, a bar for each check, and how fast it was. */
import { el } from "../dom.js";
import { money } from "../prices.js";
import { versionWords } from "./batch_words.js";
import { measuredWords, shareWords } from "./durations.js";

/** @typedef {import("./batch_words.js").Batch} Batch */
/** @typedef {import("./batch_words.js").VersionSummary} VersionSummary */
/** @typedef {{tone: string, count: number, word: string}} Piece */

/**
 * A bar in pieces, which says its numbers to who does not see it.
 * @param {string} label
 * @param {Piece[]} pieces
 * @param {number} total
 */
export function stackedBar(label, pieces, total) {
  const shown = pieces.filter(({ count }) => count > 0);
  const words = shown.map(({ count, word }) => `${count.toLocaleString()} ${word}`).join(", ") || "nothing yet";
  const bar = el("div", { class: "stack", role: "img", "aria-label": `${label}: ${words}`, title: words });
  for (const { tone, count } of shown) {
    const piece = el("span", { class: `stack-piece is-${tone}` });
    piece.style.setProperty("flex-grow", String(count));
    bar.append(piece);
  }
  const rest = el("span", { class: "stack-piece is-rest" });
  rest.style.setProperty("flex-grow", String(Math.max(0, total - shown.reduce((sum, { count }) => sum + count, 0))));
  bar.append(rest);
  return bar;
}

/** @param {{pass: number, fail: number, error: number, skip: number}} check @returns {Piece[]} */
const piecesOf = ({ pass, fail, error, skip }) => [
  { tone: "good", count: pass, word: "passed" },
  { tone: "bad", count: fail, word: "failed" },
  { tone: "warn", count: error, word: error === 1 ? "error" : "errors" },
  { tone: "plain", count: skip, word: "skipped" },
];

/** @param {Batch} batch @param {VersionSummary} summary */
function checkBars(batch, { checks, total }) {
  return checks.map((check) => {
    const label = batch.checks[check.index]?.label ?? "";
    const judged = check.pass + check.fail + check.error;
    return el(
      "div",
      { class: "summary-check" },
      el("span", { class: "summary-label truncate", title: label, dir: "auto" }, label),
      stackedBar(label, piecesOf(check), total),
      el("span", { class: "summary-number numeric" }, shareWords(check.pass, judged)),
    );
  });
}

/** @param {VersionSummary} summary @returns {[string, string][]} */
function factsOf({ duration_ms: whole, ttft_ms: first, input_tokens: input, output_tokens: output, cost_usd: cost }) {
  const pair = (/** @type {{median: number, p95: number}} */ { median, p95 }) => `${measuredWords(median / 1000)}, 95 % under ${measuredWords(p95 / 1000)}`;
  return [
    ...(whole ? [/** @type {[string, string]} */ (["Answer", pair(whole)])] : []),
    ...(first ? [/** @type {[string, string]} */ (["First token", pair(first)])] : []),
    ["Tokens", `${input.toLocaleString()} in, ${output.toLocaleString()} out`],
    ...(cost === null ? [] : [/** @type {[string, string]} */ (["Cost", money(Number(cost))])]),
  ];
}

/** @param {Batch} batch @param {VersionSummary} summary */
function card(batch, summary) {
  const version = batch.versions[summary.position];
  const { passed, failed, error, ended, total } = summary;
  const judged = passed + failed + error;
  const hasChecks = batch.checks.length > 0;
  const result = hasChecks ? shareWords(passed, judged) : `${ended.toLocaleString()} answered`;
  const about = hasChecks && judged === 0 ? "nothing judged yet" : hasChecks ? `${passed.toLocaleString()} of ${judged.toLocaleString()} passed` : `of ${total.toLocaleString()}`;
  return el(
    "article",
    { class: "summary-card" },
    el("h3", { class: "truncate", title: versionWords(version), dir: "auto" }, versionWords(version)),
    el("p", { class: "summary-result" }, el("strong", { class: "numeric" }, result), " ", el("span", { class: "soft numeric" }, about)),
    el(
      "div",
      {},
      ...(hasChecks ? [el("div", { class: "summary-checks" }, ...checkBars(batch, summary))] : []),
      el("dl", { class: "summary-facts numeric" }, ...factsOf(summary).flatMap(([name, words]) => [el("dt", {}, name), el("dd", {}, words)])),
    ),
  );
}

/** @param {HTMLElement} root @param {Batch} batch */
export function paintSummary(root, batch) {
  root.replaceChildren(...batch.summary.map((summary) => card(batch, summary)));
}

/** @param {HTMLElement} root @param {Batch} batch */
export function paintBar(root, { counts }) {
  const pieces = [
    { tone: "good", count: counts.passed, word: "passed" },
    { tone: "done", count: counts.done, word: "answered" },
    { tone: "bad", count: counts.failed, word: "failed" },
    { tone: "warn", count: counts.error, word: "in error" },
    { tone: "plain", count: counts.cancelled, word: "cancelled" },
    { tone: "busy", count: counts.running + counts.checking + counts.waiting, word: "running" },
  ];
  root.replaceChildren(stackedBar("Progress", pieces, counts.total));
}
