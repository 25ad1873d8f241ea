/* What a batch will take, before it is started, in words. Pure. */
import { money } from "../prices.js";
import { aboutWords } from "./durations.js";

/**
 * @typedef {{rows: number, runs: number, grading_runs: number, input_tokens: number | null, counted_rows: number, output_tokens_most: number | null,
 *   cost_usd: number | null, cost_usd_most: number | null, seconds: number | null, in_flight: number, waiting_batches: number,
 *   unset: Record<string, number>}} Estimate
 */

/** @param {number} count @param {string} one */
export const counted = (count, one) => `${count.toLocaleString()} ${one}${count === 1 ? "" : "s"}`;

/**
 * @param {Estimate} estimate
 * @param {number} versions
 * @returns {string} "10 rows × 2 versions = 20 runs"
 */
export function productWords({ rows, runs, grading_runs: grading }, versions) {
  const product = `${counted(rows, "row")} × ${counted(versions, "version")} = ${counted(runs, "run")}`;
  return grading > 0 ? `${product}, and ${counted(grading, "run")} of the judging model` : product;
}

/**
 * @param {Estimate} estimate
 * @returns {[string, string][]} pairs of name and words; what nobody knows says so
 */
export function estimateFacts(estimate) {
  const { input_tokens: input, output_tokens_most: output, seconds, waiting_batches: waiting } = estimate;
  const by = estimate.counted_rows > 0 ? `from ${counted(estimate.counted_rows, "row")} that ${estimate.counted_rows === 1 ? "was" : "were"} counted` : "at four characters a token";
  const tokens = input === null ? "unknown" : `about ${input.toLocaleString()}, ${by}`;
  return [
    ["Tokens in", tokens],
    ["Tokens out", output === null ? "unknown" : `at most ${output.toLocaleString()}`],
    ["Cost", costWords(estimate)],
    ["Time", seconds === null ? "unknown: this model has not answered here lately" : aboutWords(seconds)],
    ["At once", `${counted(estimate.in_flight, "run")}; your own runs go before them`],
    ...(waiting > 0 ? [/** @type {[string, string]} */ (["Beside it", waiting === 1 ? "1 other batch" : `${waiting.toLocaleString()} other batches`])] : []),
  ];
}

/** @param {Estimate} estimate */
function costWords({ cost_usd: least, cost_usd_most: most }) {
  if (least === null && most === null) return "unknown: no price is known for this model";
  if (least === 0 && (most === null || most === 0)) return "nothing: the model is this server's own";
  if (least !== null && most !== null && least !== most) return `${money(least)} to ${money(most)}`;
  return `at most ${money(/** @type {number} */ (most ?? least))}`;
}

/**
 * What is known to go wrong.
 * @param {Estimate} estimate
 * @param {{needsExpected: boolean, hasExpected: boolean}} facts
 * @returns {string[]}
 */
export function estimateWarnings({ rows, unset }, { needsExpected, hasExpected }) {
  const warnings = Object.entries(unset).map(([name, count]) => {
    const which = count === rows ? "No row has" : `${counted(count, "row")} ${count === 1 ? "has" : "have"} no`;
    return count === rows
      ? `${which} a value for {{${name}}}, and there is no default: nothing can run.`
      : `${which} value for {{${name}}}, and there is no default: ${count === 1 ? "it" : "they"} will count as an error, not as a run.`;
  });
  if (needsExpected && !hasExpected) warnings.push("A check looks at the expected text, and no row has one: it will be skipped everywhere.");
  return warnings;
}
