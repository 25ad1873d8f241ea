import assert from "node:assert/strict";
import { test } from "node:test";
import { applied, changes, columnName } from "../../static/js/columns/overrides.js";
import { columnDoubts, totalWords } from "../../static/js/columns/size_words.js";
import { figure, figuresOf, firstTokenMs, groupsOf, spreadOf, stateOf, stateWords } from "../../static/js/columns/spread.js";
import { difference } from "../../static/js/columns/word_diff.js";

const START = "2026-01-01T00:00:01.000Z";

/** @param {string} id @param {Record<string, any>} [more] */
function run(id, { status = "succeeded", digest = id, first = "2026-01-01T00:00:01.250Z", speed = 20, tokens = 8, chars = 30 } = {}) {
  const timings = { queued_at: "2026-01-01T00:00:00Z", started_at: START, first_token_at: first, finished_at: null, ttft_ms: 1250, tokens_per_s: speed };
  const usage = { input_tokens: 3, output_tokens: tokens };
  return { id, repetition: 0, attempt: 1, status, model: "m", stop_reason: null, error: null, usage, timings, output_chars: chars, output_digest: digest };
}

/** @param {Partial<import("../../static/js/editor/estimate_words.js").Size>} known */
const size = (known) => ({ input_tokens: 10, at_least: null, reason: "", context: 100, max_tokens: 20, room: 90, overflow: null, largest: null, cost: null, problems: [], ...known });

test("before a run each doubt is told once, with its columns, and a model that nobody has is not asked about", () => {
  const narrow = size({ overflow: "answer", max_tokens: 200 });
  const unknown = size({ problems: [{ field: "model", message: "Nobody offers it.", level: "error" }] });
  const refused = size({ problems: [{ field: "top_k", message: "Not taken.", level: "error" }, { field: "top_p", message: "Ignored.", level: "note" }] });
  const asked = (/** @type {any[]} */ ...sizes) => columnDoubts(sizes.map((each, index) => ({ letter: "ABCD"[index], size: each })));
  assert.deepEqual(asked(size({}), null, unknown), []);
  assert.deepEqual(asked(size({}), refused), ["Column B: Top k: Not taken."]);
  const [same, ...rest] = asked(narrow, size({}), narrow, narrow);
  assert.match(same, /^Columns A, C and D: The prompt leaves 90 tokens for the answer/);
  assert.deepEqual(rest, []);
});

test("all runs together have a size once each column has one", () => {
  const priced = size({ input_tokens: 1000, cost: { input: 0.5, answer_most: 1 } });
  assert.equal(totalWords([priced, priced], 3), "6 runs: 6,000 tokens in, at most $9.00");
  assert.equal(totalWords([priced, size({})], 1), "2 runs: 1,010 tokens in");
  for (const unknown of [null, size({ input_tokens: null })]) assert.equal(totalWords([priced, unknown], 3), "");
  for (const times of [0, Number.NaN, 1.5]) assert.equal(totalWords([priced], times), "");
});

test("a spread has its least, median and most; what is unknown does not count", () => {
  assert.deepEqual(spreadOf([3, null, 1, undefined, 2]), { least: 1, median: 2, most: 3, count: 3 });
  assert.deepEqual(spreadOf([10, 2, 1, 9]), { least: 1, median: 5.5, most: 10, count: 4 });
  assert.deepEqual(spreadOf([0]), { least: 0, median: 0, most: 0, count: 1 });
  assert.equal(spreadOf([null, Number.NaN]), null);
});

test("numbers are sorted as numbers", () => {
  assert.deepEqual(spreadOf([100, 9, 20]), { least: 9, median: 20, most: 100, count: 3 });
});

test("the first token counts from being sent, not from being queued", () => {
  assert.equal(firstTokenMs(run("1")), 250);
  assert.equal(firstTokenMs(run("1", { first: null })), null);
});

test("only what succeeded is measured", () => {
  const runs = [run("1", { tokens: 5 }), run("2", { tokens: 9 }), run("3", { status: "failed", tokens: 1 }), run("4", { status: "running", tokens: null })];
  const [first, , tokens] = figuresOf(runs);
  assert.deepEqual(first.spread, { least: 250, median: 250, most: 250, count: 2 });
  assert.deepEqual(tokens.spread, { least: 5, median: 7, most: 9, count: 2 });
  assert.ok(figuresOf([runs[2]]).every(({ spread }) => spread === null));
});

test("equal answers bear one letter", () => {
  const runs = [run("1", { digest: "x" }), run("2", { digest: "y" }), run("3", { digest: "x" }), run("4", { status: "failed", digest: "z" })];
  assert.deepEqual([...groupsOf(runs)], [["1", "a"], ["2", "b"], ["3", "a"]]);
});

test("a column says how far it is and what failed", () => {
  const of = (/** @type {string[]} */ ...statuses) => stateWords(stateOf(statuses.map((status, index) => run(String(index), { status }))));
  assert.equal(of(), "Not run yet");
  assert.equal(of("queued", "queued"), "Queued");
  assert.equal(of("succeeded", "queued"), "Running 1 of 2");
  assert.equal(of("failed", "running"), "Running 1 of 2");
  assert.equal(of("failed", "succeeded", "cancelled"), "1 of 3 failed");
  assert.equal(of("failed"), "Failed");
  assert.equal(of("cancelled", "succeeded"), "Stopped");
  assert.equal(of("succeeded"), "Done");
  assert.equal(stateOf([run("1", { status: "failed" }), run("2", { status: "running" })]).state, "running");
});

test("figures are written for people", () => {
  assert.equal(figure(999.4, "ms"), "999 ms");
  assert.equal(figure(1250, "ms"), "1.3 s");
  assert.equal(figure(12.34, "per_s"), "12.3");
  assert.equal(figure(7.5, "tokens"), "7.5");
  assert.equal(figure(1234, "chars"), "1,234");
});

/** @param {import("../../static/js/columns/word_diff.js").Piece[]} pieces @param {string} ops */
const side = (pieces, ops) => pieces.filter(({ op }) => ops.includes(op)).map(({ text }) => text).join("");

test("a difference is of words and gives both texts back", () => {
  const before = "The quick brown fox jumps over the lazy dog.";
  const after = "The quick red fox jumps over a lazy dog.";
  const { how, pieces } = difference(before, after);
  assert.equal(how, "words");
  assert.deepEqual(pieces.filter(({ op }) => op !== "=").map(({ op, text }) => op + text), ["-brown", "+red", "-the", "+a"]);
  assert.equal(side(pieces, "=-"), before);
  assert.equal(side(pieces, "=+"), after);
});

test("blanks count, and so does a line end", () => {
  assert.deepEqual(difference("a b", "a  b").pieces, [
    { op: "=", text: "a" },
    { op: "-", text: " " },
    { op: "+", text: "  " },
    { op: "=", text: "b" },
  ]);
  assert.equal(difference("one two three", "one two three\n").how, "words");
});

test("any two texts are made up of their pieces", () => {
  let seed = 7;
  const next = (/** @type {number} */ most) => (seed = (seed * 48271) % 2147483647) % most;
  const text = () => Array.from({ length: next(40) }, () => ["a ", "b ", "مرحبا ", "日本 ", "😀 ", "\n"][next(6)]).join("");
  for (let round = 0; round < 300; round += 1) {
    const [before, after] = [text(), text()];
    const { how, pieces } = difference(before, after);
    if (how === "words" || how === "lines") assert.deepEqual([side(pieces, "=-"), side(pieces, "=+")], [before, after]);
    else if (how === "equal") assert.equal(before, after);
  }
});

test("answers with little in common are not marked, and very long ones not compared", () => {
  assert.equal(difference("alpha beta gamma delta", "one two three four").how, "different");
  assert.equal(difference("", "something").how, "different");
  assert.equal(difference("x".repeat(300_000), "y".repeat(300_000)).how, "long");
  assert.equal(difference("same", "same").how, "equal");
});

test("blanks between changed words are part of the change", () => {
  const { pieces } = difference("It was the boldest plan of all.", "It was the most careful plan of all.");
  assert.deepEqual(pieces.map(({ op, text }) => op + text), ["=It was the ", "-boldest", "+most careful", "= plan of all."]);
});

test("an answer that was cut off is marked as far as it goes", () => {
  const whole = Array.from({ length: 60 }, (_, index) => `sentence number ${index}.`).join(" ");
  const { how, pieces } = difference(whole, whole.slice(0, 60));
  assert.equal(how, "words");
  assert.equal(side(pieces, "=+"), whole.slice(0, 60));
});

test("where too many words differ, lines are compared", () => {
  const lines = Array.from({ length: 100 }, (_, index) => `line ${index} stays as it is\n`);
  const before = [...lines, "a b c d e f g h\n"].join("");
  const after = [...lines, "1 2 3 4 5 6 7 8\n"].join("");
  const { how, pieces } = difference(before, after, 4);
  assert.equal(how, "lines");
  assert.deepEqual([side(pieces, "=-"), side(pieces, "=+")], [before, after]);
});

const spec = { model: "m", max_tokens: 9, temperature: 0.5, messages: [{ role: /** @type {const} */ ("user"), content: "x" }] };

test("a column sends zero as zero and leaves out what is null", () => {
  assert.deepEqual(applied(spec, null, { temperature: 0, max_tokens: 5 }), { ...spec, temperature: 0, max_tokens: 5 });
  const { temperature, ...rest } = spec;
  assert.equal(temperature, 0.5);
  assert.deepEqual(applied(spec, "other", { temperature: null }), { ...rest, model: "other" });
});

test("only what is really other is a change", () => {
  assert.deepEqual(changes(spec, "m", { temperature: 0.5, max_tokens: 5, top_p: null, top_k: 0 }), [
    { name: "max_tokens", before: 9, after: 5 },
    { name: "top_k", before: null, after: 0 },
  ]);
});

test("a column has a name that tells it apart", () => {
  assert.equal(columnName({ version: 3, model: null, parameters: {} }), "v3");
  assert.equal(columnName({ version: 3, model: "x", parameters: { temperature: 0, top_p: null, stop_sequences: ["a"] } }), "v3 on x, temperature 0, no top p, other stop sequences");
});
