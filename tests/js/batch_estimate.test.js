/* What a batch will take, in words. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { estimateFacts, estimateWarnings, productWords } from "../../static/js/batches/estimate_words.js";

const estimate = { rows: 1000, runs: 2000, grading_runs: 2000, input_tokens: 120_000, counted_rows: 5, output_tokens_most: 48_000, cost_usd: 0, cost_usd_most: 0, seconds: 4000, in_flight: 8, waiting_batches: 1, unset: { tone: 3 } };

test("an estimate says the product, and what nobody knows", () => {
  assert.equal(productWords(estimate, 2), "1,000 rows × 2 versions = 2,000 runs, and 2,000 runs of the judging model");
  const facts = Object.fromEntries(estimateFacts(estimate));
  const by = [5, 1, 0].map((rows) => estimateFacts({ ...estimate, counted_rows: rows })[0][1].replace("about 120,000, ", ""));
  assert.deepEqual(by, ["from 5 rows that were counted", "from 1 row that was counted", "at four characters a token"]);
  assert.equal(facts["Tokens out"], "at most 48,000");
  assert.equal(facts.Time, "about 67 minutes");
  assert.match(facts.Cost, /nothing/);
  assert.equal(facts["Beside it"], "1 other batch");
  const unknown = Object.fromEntries(estimateFacts({ ...estimate, input_tokens: null, seconds: null, cost_usd: null, cost_usd_most: null }));
  assert.equal(unknown["Tokens in"], "unknown");
  assert.match(unknown.Time, /unknown/);
  assert.match(unknown.Cost, /no price/);
});

test("an estimate warns of rows that cannot run and of checks that have nothing to look at", () => {
  const [unset, skipped] = estimateWarnings(estimate, { needsExpected: true, hasExpected: false });
  assert.match(unset, /3 rows have no value for {{tone}}/);
  assert.match(skipped, /skipped/);
  assert.match(estimateWarnings({ ...estimate, unset: { tone: 1000 } }, { needsExpected: false, hasExpected: false })[0], /nothing can run/);
});
