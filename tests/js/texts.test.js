import assert from "node:assert/strict";
import { test } from "node:test";
import { lineEndNote, lineEndsOf } from "../../static/js/line_ends.js";
import { RunText } from "../../static/js/run_text.js";
import { factsOf, problemOf } from "../../static/js/run_words.js";
import { meant, shown } from "../../static/js/stops.js";

test("line ends are found, and mixtures named", () => {
  assert.deepEqual(lineEndsOf("a\nb"), { end: "\n", mixed: false });
  assert.deepEqual(lineEndsOf("a\r\nb\r\n"), { end: "\r\n", mixed: false });
  assert.deepEqual(lineEndsOf("a\rb"), { end: "\r", mixed: false });
  assert.deepEqual(lineEndsOf("a\r\nb\nc\r\n"), { end: "\r\n", mixed: true });
  assert.deepEqual(lineEndsOf("none"), { end: "\n", mixed: false });
  assert.equal(lineEndNote(lineEndsOf("a\nb")), "");
  assert.match(lineEndNote(lineEndsOf("a\r\nb\nc")), /Kept exactly as it is until you edit it/);
});

test("pieces are joined by code points, whatever is repeated", () => {
  const run = new RunText();
  assert.equal(run.append(0, "a😀"), "a😀");
  assert.equal(run.length, 2);
  assert.equal(run.append(2, "é"), "é");
  assert.equal(run.append(1, "😀éx"), "x");
  assert.equal(run.text, "a😀éx");
});

test("a missing piece is noticed, and a reset mends it", () => {
  const run = new RunText();
  run.append(0, "ab");
  assert.equal(run.append(3, "d"), null);
  run.reset("abc");
  assert.equal(run.append(3, "d"), "d");
  assert.equal(run.text, "abcd");
});

test("stop sequences survive being shown and typed", () => {
  for (const sequence of ["\n\nHuman:", "\\n", "\t", "a\\b", "\r\n", "plain"]) assert.equal(meant(shown(sequence)), sequence);
});

const usage = { input_tokens: 12, output_tokens: 0 };
const run = { id: "r", status: "succeeded", text: "", model: "m", stopReason: "end_turn", error: null, usage, ttft_ms: 214, tokens_per_s: 61.04 };

test("an empty answer is said, with its stop reason", () => {
  assert.deepEqual(problemOf(run), { tone: "warn", title: "The model answered with nothing", message: "Stop reason: end of turn.", next: "" });
});

test("a failed run keeps its text and says what to do", () => {
  const failed = { ...run, status: "failed", text: "half", error: { code: "upstream_overloaded", message: "The model is overloaded." } };
  const problem = problemOf(failed);
  assert.equal(problem?.message, "The model is overloaded.");
  assert.match(problem?.next ?? "", /^The text that had arrived is kept above\. Run it again/);
});

test("an answer that says it all needs no words", () => {
  assert.equal(problemOf({ ...run, text: "yes" }), null);
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
