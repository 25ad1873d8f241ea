import assert from "node:assert/strict";
import { test } from "node:test";
import { heldWords, progressFacts, retryWords, verdictWords, versionWords } from "../../static/js/batches/batch_words.js";
import { sentEdit } from "../../static/js/batches/case_keeper.js";
import { applyEdit, CaseSheet, sameCases, shownValue } from "../../static/js/batches/case_sheet.js";
import { checkWords, KINDS, loadedCheck, needsExpected, newCheck, problemOf, sentCheck } from "../../static/js/batches/check_kinds.js";
import { AS_EXPECTED, LEFT_OUT, mappingNotes, proposedMapping, remapped, sentMapping } from "../../static/js/batches/column_mapping.js";
import { aboutWords, measuredWords, shareWords } from "../../static/js/batches/durations.js";
import { fileHead } from "../../static/js/batches/file_head.js";
import { placeAfter, placeBeside } from "../../static/js/batches/grid_walk.js";
import { PagedRows } from "../../static/js/batches/paged_rows.js";
import { cellsOf, copiedBlock, pastedBlock } from "../../static/js/batches/pasted_block.js";
import { nextWait } from "../../static/js/batches/poll.js";

test("a block of a spreadsheet keeps line breaks, quotes and empty cells inside its cells", () => {
  assert.deepEqual(pastedBlock('a\tb\r\n"two\nlines"\t"say ""hi"""\r\n\t\r\n', 9), [["a", "b"], ["two\nlines", 'say "hi"'], ["", ""]]);
});

test("a quote that is no wrapping stays as it is", () => {
  assert.deepEqual(pastedBlock('"so called" facts\tx', 9), [['"so called" facts', "x"]]);
  assert.deepEqual(pastedBlock('5" pipe\t"open', 9), [['5" pipe', '"open']]);
});

test("commas part cells only where every row has as many and they fit", () => {
  assert.deepEqual(pastedBlock('a,b\n"1,5",2', 2), [["a", "b"], ["1,5", "2"]]);
  assert.deepEqual(pastedBlock("a;b\nc;d", 2), [["a", "b"], ["c", "d"]]);
  assert.deepEqual(pastedBlock("Dear Ada,\nthank you, and see you", 4), [["Dear Ada,"], ["thank you, and see you"]]);
  assert.deepEqual(pastedBlock("a,b\nc,d", 1), [["a,b"], ["c,d"]]);
  assert.deepEqual(pastedBlock("one, two", 4), [["one, two"]]);
});

test("what is copied is read back the same", () => {
  const rows = [["a", 'q"q', '"quoted"'], ["tab\there", "line\r\nbreak", ""], ["$& $1", "{{x}}", "\ud83e\udd84"]];
  assert.deepEqual(cellsOf(copiedBlock(rows), "\t"), rows);
});

test("a megabyte of cells and of stray quotes is read at once", () => {
  const started = performance.now();
  assert.equal(pastedBlock('"a\tb\n'.repeat(200_000), 9).length, 200_000);
  assert.equal(pastedBlock(`${'"'.repeat(1_000_000)}\tx`, 9)[0].length, 2);
  assert.ok(performance.now() - started < 5000);
});

/** @param {import("../../static/js/batches/case_sheet.js").Case[]} rows */
function sheetOf(rows) {
  /** @type {import("../../static/js/batches/case_sheet.js").Edit[]} */
  const sent = [];
  return { sheet: new CaseSheet(["name", "größe"], rows, (edits) => sent.push(...edits)), sent };
}

test("empty text and no value are two things", () => {
  const { sheet, sent } = sheetOf([{ values: { name: "Ada" }, expected: null }]);
  sheet.set(0, 1, "");
  assert.deepEqual(sheet.rows[0], { values: { name: "Ada", größe: "" }, expected: null });
  sheet.set(0, 1, undefined);
  assert.deepEqual(sheet.rows[0].values, { name: "Ada" });
  assert.equal(sent.length, 2);
  sheet.set(0, 1, undefined);
  sheet.set(0, 0, "Ada");
  assert.equal(sent.length, 2, "what changes nothing is not sent");
});

test("a paste fills what is there, makes rows behind it, and says what found no column", () => {
  const { sheet, sent } = sheetOf([{ values: { name: "Ada" }, expected: "x" }]);
  assert.deepEqual(sheet.paste(0, 1, [["1", "yes", "lost"], ["2", "no"]]), { rows: 2, dropped: 1 });
  assert.deepEqual(sheet.rows, [
    { values: { name: "Ada", größe: "1" }, expected: "yes" },
    { values: { größe: "2" }, expected: "no" },
  ]);
  assert.deepEqual(sent.map(({ op }) => op), ["set", "insert"]);
  assert.match(sheet.undo(), /paste of 2 rows/);
  assert.deepEqual(sheet.rows, [{ values: { name: "Ada" }, expected: "x" }]);
});

test("a removal comes back where it was, and undo ends at the beginning", () => {
  const rows = ["a", "b", "c"].map((name) => ({ values: { name }, expected: null }));
  const { sheet, sent } = sheetOf(rows);
  sheet.remove(1, 2);
  assert.deepEqual(sheet.rows.map(({ values }) => values.name), ["a"]);
  assert.equal(sheet.undo(), "the removal of 2 rows");
  assert.ok(sameCases(sheet.rows, rows));
  assert.equal(sheet.undo(), "");
  sheet.remove(9);
  assert.equal(sent.length, 2);
});

test("edits lead the server's rows to what is shown, whatever was done", () => {
  const rows = [{ values: { name: "a" }, expected: null }];
  const { sheet, sent } = sheetOf(rows);
  sheet.paste(0, 0, [["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]]);
  sheet.remove(1);
  sheet.insert(0, [{ values: { name: "$&" }, expected: "" }]);
  sheet.set(3, 0, "new");
  sheet.undo();
  sheet.undo();
  sheet.set(2, 2, undefined);
  const server = structuredClone(rows);
  for (const edit of sent) applyEdit(server, edit);
  assert.ok(sameCases(server, sheet.rows));
  assert.equal(sheet.rows.length, 2);
});

test("a value that is no text is shown as its JSON", () => {
  assert.equal(shownValue({ a: [1, true] }), '{"a":[1,true]}');
  assert.equal(shownValue(0), "0");
  assert.equal(shownValue(null), "");
});

test("keys move within the grid, Tab over the ends of its rows", () => {
  const extent = { rows: 10, columns: 3, page: 4 };
  const at = { row: 5, column: 1 };
  assert.deepEqual(placeAfter({ key: "ArrowDown" }, at, extent), { row: 6, column: 1 });
  assert.deepEqual(placeAfter({ key: "ArrowUp", ctrlKey: true }, at, extent), { row: 0, column: 1 });
  assert.deepEqual(placeAfter({ key: "PageDown" }, { row: 8, column: 0 }, extent), { row: 9, column: 0 });
  assert.deepEqual(placeAfter({ key: "End", metaKey: true }, at, extent), { row: 9, column: 2 });
  assert.equal(placeAfter({ key: "a" }, at, extent), null);
  assert.equal(placeAfter({ key: "ArrowDown", altKey: true }, at, extent), null);
  assert.deepEqual(placeBeside({ row: 5, column: 2 }, 1, extent), { row: 6, column: 0 });
  assert.equal(placeBeside({ row: 9, column: 2 }, 1, extent), null);
  assert.equal(placeBeside({ row: 0, column: 0 }, -1, extent), null);
});

test("of a hundred thousand rows only pages in sight are asked for, and few are kept", async () => {
  /** @type {number[]} */
  const asked = [];
  const rows = new PagedRows(
    async (offset, limit) => {
      asked.push(offset);
      return { count: 100_000, rows: Array.from({ length: limit }, (_, index) => offset + index) };
    },
    () => {},
  );
  rows.want(50_010, 50_040);
  await new Promise(setImmediate);
  assert.deepEqual([asked, rows.count, rows.at(50_020), rows.at(0)], [[50_000], 100_000, 50_020, undefined]);
  rows.want(50_010, 50_040);
  await new Promise(setImmediate);
  assert.equal(asked.length, 1, "what is there is not asked for again");
  rows.spoil();
  assert.equal(rows.at(50_020), 50_020, "and is shown until it is");
  rows.want(50_010, 50_040);
  await new Promise(setImmediate);
  assert.equal(asked.length, 2);
  for (let first = 0; first < 100_000; first += 1000) {
    rows.want(first, first + 30);
    await new Promise(setImmediate);
  }
  assert.ok(rows.pages.size <= 60);
});

test("an answer that belongs to another filter is thrown away", async () => {
  /** @typedef {{count: number, rows: string[]}} Answer */
  /** @type {((value: Answer) => void)[]} */
  const answers = [];
  const ask = () => new Promise((/** @type {(value: Answer) => void} */ resolve) => void answers.push(resolve));
  const rows = new PagedRows(ask, () => {});
  rows.want(0, 10);
  rows.clear();
  rows.want(0, 10);
  answers[1]({ count: 1, rows: ["new"] });
  answers[0]({ count: 9, rows: ["old"] });
  await new Promise(setImmediate);
  assert.deepEqual([rows.count, rows.at(0)], [1, "new"]);
});

test("columns find their variables by name, then by what looks alike, and an expected text", () => {
  const variables = [{ name: "größe" }, { name: "user_name" }, { name: "tone", default: "dry" }];
  const mapping = proposedMapping(["gro\u0308ße", "User Name", "expected", "notes"], variables);
  assert.deepEqual([...mapping.values()], ["größe", "user_name", AS_EXPECTED, LEFT_OUT]);
  const notes = mappingNotes(mapping, variables).map(({ text }) => text);
  assert.deepEqual(notes, ["No column fills {{tone}}: its default is used.", "Left out: notes."]);
  assert.deepEqual(sentMapping(mapping), { columns: { "gro\u0308ße": "größe", "User Name": "user_name", notes: null }, expected: "expected" });
});

test("a variable that is chosen for another column is taken from the first", () => {
  const mapping = remapped(proposedMapping(["a", "b"], [{ name: "a" }]), "b", "a");
  assert.deepEqual([...mapping], [["a", LEFT_OUT], ["b", "a"]]);
  const bad = mappingNotes(remapped(mapping, "b", LEFT_OUT), [{ name: "a" }]);
  assert.deepEqual(bad.map(({ tone }) => tone), ["bad", "warn", "plain"]);
});

test("the start of a file says its columns, whatever parts them", () => {
  const whole = { name: "cases.csv", isWhole: true };
  assert.deepEqual(fileHead('\uFEFFname;expected\r\n"a;b";x\r\n', whole).rows, [["a;b", "x"]]);
  assert.deepEqual(fileHead("a\tb\n1\t2\n", { name: "x.tsv", isWhole: true }).columns, ["a", "b"]);
  assert.deepEqual(fileHead("a,b\n1,2\n3,4 is cut he", { name: "x.csv", isWhole: false }).rows, [["1", "2"]]);
  assert.match(fileHead("a,a\n1,2\n", whole).problem, /twice/);
  assert.match(fileHead("a,,b\n", whole).problem, /Column 2 has no name/);
  assert.equal(fileHead("  \n", whole).problem, "The file is empty.");
});

test("lines of JSON say what they name, in either shape, and which of them is none", () => {
  const lines = '{"a": 1, "b": {"c": true}}\n\n{"a": "x", "expected": "y"}\n';
  const head = fileHead(lines, { name: "cases.jsonl", isWhole: true });
  assert.deepEqual([head.format, head.columns, head.rows[0]], ["jsonl", ["a", "b", "expected"], ["1", '{"c":true}', ""]]);
  assert.deepEqual(fileHead('{"values": {"q": "1"}, "expected": "2"}', { name: "x", isWhole: true }).columns, ["q", "expected"]);
  assert.match(fileHead('{"a": 1}\n[1]\n', { name: "x.jsonl", isWhole: true }).problem, /Line 2/);
});

test("every check says itself, and what is missing of it", () => {
  assert.equal(checkWords(newCheck("contains")), "contains the expected text");
  assert.equal(checkWords({ kind: "not_contains", text: "As an AI" }), "does not contain “As an AI”");
  assert.equal(checkWords({ kind: "similarity", text: "{{expected}}", threshold: 0.9, method: "embedding" }), "means like the expected text, at least 0.9");
  assert.equal(problemOf(newCheck("regex")), "Pattern is missing.");
  assert.equal(problemOf({ ...newCheck("similarity"), threshold: 2 }), "At least is a number from 0 to 1.");
  assert.match(problemOf({ kind: "json_schema", schema: "{" }), /no JSON/);
  assert.equal(problemOf({ kind: "json_schema", schema: "" }), "");
  for (const { kind } of KINDS) assert.ok(checkWords(newCheck(kind)).length > 0);
});

test("a check is sent without what was left empty, and a threshold of 0 is sent", () => {
  assert.deepEqual(sentCheck({ kind: "contains", text: "x", ignore_case: false }), { kind: "contains", text: "x" });
  assert.deepEqual(sentCheck({ ...newCheck("similarity"), threshold: 0 }), { kind: "similarity", text: "{{expected}}", threshold: 0, method: "ratio" });
  assert.ok(needsExpected(newCheck("equals")) && needsExpected({ kind: "model", question: "Like {{ expected }}?" }));
  assert.ok(!needsExpected({ kind: "json" }));
});

test("a check of an earlier batch is taken over as it was", () => {
  const schema = { type: "object", required: ["a"] };
  const loaded = loadedCheck(/** @type {any} */ ({ kind: "json_schema", schema, name: null, index: 0, label: "fits" }));
  assert.equal(problemOf(loaded), "");
  assert.deepEqual(sentCheck(loaded), { kind: "json_schema", schema: JSON.stringify(schema) });
  assert.deepEqual(sentCheck(loadedCheck({ kind: "model", question: "Polite?", model: null })), { kind: "model", question: "Polite?" });
});

test("durations and shares say no more than is known", () => {
  assert.equal(aboutWords(3), "less than 10 seconds");
  assert.equal(aboutWords(41), "about 50 seconds");
  assert.equal(aboutWords(600), "about 10 minutes");
  assert.equal(aboutWords(9000), "about 2.5 hours");
  assert.equal(measuredWords(0.84), "840 ms");
  assert.equal(measuredWords(125), "2 min 5 s");
  assert.equal(shareWords(9999, 10_000), "99.9 %");
  assert.equal(shareWords(1, 10_000), "0.1 %");
  assert.equal(shareWords(0, 0), "–");
  assert.equal(shareWords(3, 3), "100 %");
});

const counts = { total: 20, not_sent: 6, waiting: 1, running: 2, checking: 1, done: 0, passed: 7, failed: 0, error: 2, cancelled: 1 };
/** @type {any} */
const batch = { state: "running", counts, ended: 10, rate_per_minute: 31.4, seconds_left: 41, paused_because: null, held_until: null };

test("progress names what passed, what failed, and what is to come", () => {
  const said = progressFacts(batch).map((pair) => pair.join(" ").trim());
  assert.deepEqual(said, ["7 passed", "0 failed", "2 errors", "3 running", "1 to be tried again", "1 cancelled", "6 to go", "31 a minute", "about 50 seconds left"]);
});

test("a batch that stands still says why, and that nothing is lost", () => {
  assert.equal(heldWords(batch), "");
  assert.match(heldWords({ ...batch, held_until: "2026-01-01T00:00:00Z" }), /cannot be reached.*kept.*by itself/s);
  const why = { code: "unauthorized", message: "The key is no longer valid." };
  assert.match(heldWords({ ...batch, state: "paused", paused_because: why }), /^The key is no longer valid\. Every answer.*Resume/s);
  assert.equal(heldWords({ ...batch, state: "paused", paused_because: { code: "person", message: "" } }), "");
  assert.match(heldWords({ ...batch, state: "cancelled" }), /kept.*begins anew/s);
  assert.equal(retryWords(counts), "Retry 3");
  assert.equal(retryWords({ ...counts, error: 0, cancelled: 0 }), "");
});

test("a check that a model still has to answer is told apart from one that was skipped", () => {
  assert.equal(verdictWords(null).word, "being judged");
  assert.equal(verdictWords({ verdict: "skip", reason: "" }).word, "skipped");
  assert.equal(verdictWords({ verdict: "error", reason: "" }).word, "could not be judged");
});

test("a version goes by what was asked for and by its number", () => {
  assert.equal(versionWords({ label: "v3", pointer: "production", number: 3 }), "production: v3");
  assert.equal(versionWords({ label: "v3", pointer: "3", number: 3 }), "v3");
});

test("asking goes slower while nothing changes, slower still while nobody answers, and fast again after", () => {
  const waits = (/** @type {"same" | "cut"} */ came) => Array.from({ length: 20 }).reduce((/** @type {number[]} */ all) => [...all, nextWait(all[all.length - 1], came)], [700]);
  const same = waits("same");
  assert.ok(same.every((wait, index) => index === 0 || wait >= same[index - 1]));
  assert.equal(same[same.length - 1], 6000);
  assert.equal(waits("cut")[20], 30_000);
  assert.ok(nextWait(6000, "changed") <= 1400);
});

test("a value that was taken back is named to the server, for what is not named stays there", () => {
  /** @type {import("../../static/js/batches/case_sheet.js").Edit} */
  const edit = { op: "set", index: 2, values: { a: "", b: 0 }, expected: null };
  assert.deepEqual(sentEdit(edit, ["a", "b", "c"]), { op: "set", index: 2, values: { a: "", b: 0, c: null }, expected: null });
  assert.deepEqual(sentEdit({ op: "remove", index: 0, count: 1 }, ["a"]), { op: "remove", index: 0, count: 1 });
});
