/* Whether a snippet makes the call that a run made, in words. */

/** @typedef {{request_sha256: string, equal: boolean | null, differences: string[], last_run: {id: string, queued_at: string, request_sha256: string} | null}} Proof */

/** @type {Record<string, string>} */
const REASONS = {
  messages: "its messages were filled with other values, or continue a conversation",
  system: "its system text was filled with other values",
  stream: "only one of them streams",
  model: "it ran on another model",
};

/**
 * @param {Proof} proof
 * @param {(iso: string) => string} ago
 * @returns {string}
 */
export function proofWords(proof, ago) {
  if (!proof.last_run) return "You have not run this version yet, so there is nothing to compare with.";
  const when = ago(proof.last_run.queued_at);
  if (proof.equal) return `The same request as your last run of this version, ${when}.`;
  const reasons = proof.differences.map((field) => REASONS[field] ?? `\`${field}\` differs`);
  return `Not the request of your last run, ${when}: ${reasons.join("; ")}.`;
}
