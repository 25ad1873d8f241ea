import assert from "node:assert/strict";
import { test } from "node:test";
import { ancestorsOf, partsOf, pointerTo, readJson, sizeWords, writtenAs } from "../../static/js/json_values.js";
import { costOf, learnPrices, money, priceOf } from "../../static/js/prices.js";
import { queuedRun, runState } from "../../static/js/run_stream.js";
import { factsOf, problemOf, waitingWords } from "../../static/js/run_words.js";
import { around, verdictWords } from "../../static/js/structured.js";
import { headWords, wireFacts } from "../../static/js/wire_facts.js";

const run = {
  ...queuedRun("r", "m"),
  status: "succeeded",
  stopReason: "end_turn",
  usage: { input_tokens: 12, output_tokens: 0 },
  ttft_ms: 214,
  tokens_per_s: 61.04,
};

test("an empty answer is said, with its stop reason", () => {
  const problem = problemOf(run);
  assert.deepEqual([problem?.tone, problem?.title, problem?.message], ["warn", "Empty answer", "Stop reason: end of turn."]);
  assert.equal(problemOf({ ...run, stopReason: "max_tokens" })?.action, "raise_tokens");
});

test("a failed run keeps its text and says what to do", () => {
  const failed = { ...run, status: "failed", text: "half", error: { code: "upstream_overloaded", message: "The model is overloaded." } };
  const problem = problemOf(failed);
  assert.equal(problem?.message, "The model is overloaded.");
  assert.match(problem?.next ?? "", /^The text that had arrived is kept above\. Run it again/);
});

test("a failure before the first token and one in the middle of an answer are told apart", () => {
  const error = { code: "stream_cut", message: "It ended." };
  assert.equal(problemOf({ ...run, status: "failed", error })?.title, "The run failed before its first token");
  assert.equal(problemOf({ ...run, status: "failed", error, text: "half" })?.title, "The answer broke off");
});

test("each way to end has its own words", () => {
  const ended = (/** @type {Record<string, unknown>} */ more) => problemOf(/** @type {any} */ ({ ...run, text: "half", ...more }))?.title;
  const titles = [
    ended({ text: "" }),
    ended({ stopReason: "refusal" }),
    ended({ stopReason: "max_tokens" }),
    ended({ stopReason: "stop_sequence" }),
    ended({ stopReason: "tool_use", text: "" }),
    ended({ status: "cancelled" }),
    ended({ status: "lost" }),
    ended({ status: "failed", error: { code: "worker_lost", message: "" } }),
    ended({ status: "failed", error: { code: "inference_unavailable", message: "" } }),
    ended({ status: "failed", error: { code: "invalid_request", message: "" } }),
  ];
  assert.equal(new Set(titles).size, titles.length);
  assert.ok(titles.every(Boolean));
  assert.equal(ended({ stopReason: "a_new_reason" }), undefined);
});

test("the stop sequence that ended an answer is shown as it was written", () => {
  assert.match(problemOf({ ...run, text: "x", stopReason: "stop_sequence", stopSequence: "\n\nHuman:" })?.message ?? "", /"\\n\\nHuman:"/);
});

test("an answer that says it all needs no words", () => {
  assert.equal(problemOf({ ...run, text: "yes" }), null);
});

test("who waits is told for how long, behind whom, and when nobody comes", () => {
  const waiting = queuedRun("r");
  assert.equal(waitingWords(waiting, 1.26, null), "Queued, 1.3 s. It is sent as soon as a worker is free.");
  assert.match(waitingWords(waiting, 1, { count: 1, isMore: false }), /1 run of yours waits before it/);
  assert.match(waitingWords(waiting, 1, { count: 99, isMore: true }), /99 or more runs of yours wait before it/);
  assert.match(waitingWords(waiting, 30, { count: 0, isMore: false }), /No worker has taken it yet/);
  assert.equal(waitingWords({ ...waiting, status: "running" }, 2, null), "Waiting for the first token, 2.0 s.");
  assert.equal(waitingWords({ ...waiting, status: "running", block: "thinking" }, 2, null), "Thinking, 2.0 s.");
});

test("facts that are not known are left out", () => {
  assert.deepEqual(factsOf(run), [
    ["First token", "214 ms"],
    ["Speed", "61 tokens/s"],
    ["In", "12"],
    ["Out", "0"],
    ["Stop", "end of turn"],
    ["Model", "m"],
  ]);
});

test("a run costs what its model's price says, and nothing is guessed", () => {
  learnPrices([{ id: "dear", price: { input_per_mtok: 3, output_per_mtok: 15 } }, { id: "own", price: null }]);
  assert.equal(costOf(priceOf("dear"), 1000, 200), 0.006);
  assert.equal(costOf(priceOf("own"), 1000, 200), null);
  assert.equal(costOf(priceOf("dear"), 1000, null), null);
  assert.deepEqual([money(0.006), money(0.0000123), money(0), money(12.5), money(0.0000001)], ["$0.006", "$0.000012", "$0.00", "$12.50", "under $0.000001"]);
  assert.ok(factsOf({ ...run, model: "dear", usage: { input_tokens: 1000, output_tokens: 200 } }).some(([name, value]) => name === "Cost" && value === "$0.006"));
});

test("blocks are told only where text is not all there is", () => {
  const text = { type: "text", text: "a" };
  assert.equal(runState({ id: "r", wire_response: { content: [text] } }).content, null);
  assert.equal(runState({ id: "r", wire_response: { content: [] } }).content, null);
  assert.equal(runState({ id: "r", wire_response: { error: { type: "x" } } }).content, null);
  assert.equal(runState({ id: "r", wire_response: { content: [{ type: "thinking", thinking: "b" }, text] } }).content?.length, 2);
  assert.equal(runState({ id: "r", wire_response: { content: [{ type: "tool_use" }] } }).content?.length, 1);
});

const wire = {
  id: "r", status: "succeeded", model: "m", request_sha256: "ab", upstream_request_id: "req_1", stop_reason: "stop_sequence", error: null,
  usage: { input_tokens: 1234, output_tokens: 5 },
  wire_response: { stop_sequence: "END", usage: { cache_read_input_tokens: 1000, cache_creation_input_tokens: 0 } },
  timings: { queued_at: "2026-01-01T00:00:00Z", finished_at: null, queue_ms: 0, ttft_ms: 1500, tokens_per_s: null },
};

test("the wire's facts have their names, and a zero is one of them", () => {
  const facts = Object.fromEntries(wireFacts(wire));
  assert.equal(facts["Queue time"], "0 ms");
  assert.equal(facts["Time to first token"], "1.5 s");
  assert.equal(facts["Stop reason"], "stop_sequence (stop sequence)");
  assert.equal(facts["Stop sequence"], '"END"');
  assert.equal(facts["Upstream request id"], "req_1");
  assert.equal(facts["of them read from the cache"], "1,000");
  assert.ok(!("of them written to the cache" in facts) && !("Error" in facts) && !("Ended at" in facts));
});

test("the head of the request names the version and the idempotency key, and no other key", () => {
  assert.deepEqual(headWords({ "anthropic-version": "2023-06-01", "Idempotency-Key": "k" }).split("\n"), [
    "POST /v1/messages", "content-type: application/json", "anthropic-version: 2023-06-01", "idempotency-key: k", "(the key is never shown)",
  ]);
});

test("JSON is read with pointers as RFC 6901 writes them", () => {
  assert.equal(readJson("{"), null);
  assert.deepEqual(readJson("null"), { value: null });
  assert.deepEqual(partsOf({ a: 1, __proto__: 2 }), [["a", 1]]);
  assert.deepEqual(partsOf(readJson('{"__proto__": 2}')?.value), [["__proto__", 2]]);
  assert.equal(partsOf("text"), null);
  assert.equal(pointerTo("/a", "b/c~d"), "/a/b~1c~0d");
  assert.deepEqual(ancestorsOf("/a/b/0"), ["", "/a", "/a/b"]);
  assert.deepEqual(ancestorsOf(""), []);
  assert.deepEqual([sizeWords([1]), sizeWords({}), sizeWords([1, 2])], ["1 item", "0 properties", "2 items"]);
  assert.equal(writtenAs("a\n"), '"a\\n"');
});

test("the place where an answer stops being JSON is shown by code points", () => {
  assert.deepEqual(around('{\n"😀": oops}', { line: 2, column: 6 }), ['"😀": ', "o", "ops}"]);
  assert.deepEqual(around('{"a": 1', { line: 1, column: 8 }), ['{"a": 1', "", ""]);
  assert.equal(around("x", { line: 3, column: 1 }), null);
  const long = around(`${"a".repeat(100)}!${"b".repeat(100)}`, { line: 1, column: 101 });
  assert.deepEqual([long?.[0].length, long?.[1], long?.[2].length], [61, "!", 61]);
});

test("the verdict on a structured answer is one sentence", () => {
  const problem = { path: "", message: "Not checked: too large." };
  assert.equal(verdictWords({ valid: true, errors: [], place: null }), "Follows its schema.");
  assert.equal(verdictWords({ valid: null, errors: [problem], place: null }), "Not checked: too large.");
  assert.match(verdictWords({ valid: false, errors: [problem], place: { line: 1, column: 1 } }), /^Not JSON/);
  assert.match(verdictWords({ valid: false, errors: [problem, problem], place: null }), /in 2 places/);
});
