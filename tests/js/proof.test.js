import assert from "node:assert/strict";
import { test } from "node:test";
import { proofWords } from "../../static/js/proof_words.js";

const ago = () => "2 minutes ago";
const run = { id: "r", queued_at: "2026-01-01T00:00:00Z", request_sha256: "b" };

test("without a run there is nothing to compare with", () => {
  const words = proofWords({ request_sha256: "a", equal: null, differences: [], last_run: null }, ago);
  assert.match(words, /not run this version yet/);
});

test("an equal request is said to be the same", () => {
  const words = proofWords({ request_sha256: "b", equal: true, differences: [], last_run: run }, ago);
  assert.equal(words, "The same request as your last run of this version, 2 minutes ago.");
});

test("what differs is named, known fields with their reason", () => {
  const words = proofWords({ request_sha256: "a", equal: false, differences: ["messages", "top_k"], last_run: run }, ago);
  assert.match(words, /^Not the request of your last run, 2 minutes ago: its messages were filled/);
  assert.match(words, /`top_k` differs\.$/);
});
