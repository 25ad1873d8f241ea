import assert from "node:assert/strict";
import { test } from "node:test";
import { differInBlanksOnly, inUnits, isMarked, pieces } from "../../static/js/diff_marks.js";
import { diffRows, unified } from "../../static/js/diff_rows.js";
import { partNotes, placeName, valueText } from "../../static/js/diff_words.js";

/** @param {"=" | "-" | "+"} op @param {string} text */
const line = (op, text) => ({ op, text, spans: [], column: 0, cut: false, ends: true });

test("positions of the server are code points", () => {
  assert.deepEqual(inUnits("a😀b", [[2, 3]]), [[3, 4]]);
  assert.deepEqual(inUnits("abc", [[1, 2]]), [[1, 2]]);
  assert.deepEqual(pieces("a😀b", [[1, 2]]).map(({ text, changed }) => [text, changed]), [
    ["a", false],
    ["😀", true],
    ["b", false],
  ]);
});

test("what cannot be seen has a name", () => {
  const found = pieces("a\u200bb\u00a0c\td\u202ee\r");
  assert.deepEqual(found.filter((piece) => piece.mark).map((piece) => piece.mark), ["ZWSP", "⍽", "→", "RLO", "CR"]);
  assert.equal(found.map((piece) => piece.text).join(""), "a\u200bb\u00a0c\td\u202ee\r");
  assert.deepEqual(pieces("\0").map((piece) => piece.mark), ["␀"]);
});

test("a joiner inside one emoji is no stray character, one between letters is", () => {
  assert.deepEqual(pieces("👩‍👩‍👧").map((piece) => piece.mark), [""]);
  assert.deepEqual(pieces("a\u200db").map((piece) => piece.mark), ["", "ZWJ", ""]);
});

test("trailing blanks are told from blanks inside", () => {
  const found = pieces("a b  ", [[4, 5]]);
  assert.deepEqual(found.map(({ text, trailing, changed }) => [text, trailing, changed]), [
    ["a", false, false],
    [" ", false, false],
    ["b", false, false],
    [" ", true, false],
    [" ", true, true],
  ]);
  assert.ok(!isMarked(found[1], false));
  assert.ok(isMarked(found[1], true));
  assert.ok(isMarked(pieces("\u00a0")[0], false));
});

test("lines that differ in blanks only are known", () => {
  assert.ok(differInBlanksOnly("a b", "a  b"));
  assert.ok(differInBlanksOnly("a", "a\u00a0"));
  assert.ok(!differInBlanksOnly("a", "b"));
  assert.ok(!differInBlanksOnly("a", "a"));
});

const hunk = { from_line: 11, to_line: 11, lines: [line("=", "x"), line("-", "a b"), line("-", "c"), line("+", "a  b"), line("=", "y")] };

test("rows are numbered, paired and folded", () => {
  const rows = diffRows([hunk, { from_line: 100, to_line: 99, lines: [line("+", "new")] }]);
  assert.deepEqual(rows[0], { kind: "fold", from: 1, to: 1, count: 10 });
  const changed = rows.flatMap((row) => (row.kind === "change" ? [[row.left?.number, row.right?.number, row.first, row.left?.blanks ?? false]] : []));
  assert.deepEqual(changed, [
    [12, 12, true, true],
    [13, undefined, false, false],
    [undefined, 99, true, false],
  ]);
  assert.deepEqual(rows[5], { kind: "fold", from: 15, to: 14, count: 85 });
});

test("unified shows what was removed before what was added", () => {
  const rows = unified(diffRows([hunk]));
  assert.deepEqual(
    rows.map((row) => (row.kind === "fold" ? "fold" : (row.left ? "-" : "") + (row.right ? "+" : ""))),
    ["fold", "-+", "-", "-", "+", "-+"],
  );
  assert.equal(rows.filter((row) => row.kind !== "fold" && row.first).length, 1);
});

test("an added text has no removed empty line", () => {
  const lines = [{ ...line("-", ""), ends: false }, line("+", "a"), { ...line("+", ""), ends: false }];
  assert.equal(diffRows([{ from_line: 1, to_line: 1, lines }], "added").length, 2);
  assert.equal(diffRows([{ from_line: 1, to_line: 1, lines }], "changed").length, 2);
});

test("places and values have names", () => {
  assert.equal(placeName("messages.1", "user"), "Message 2, user");
  assert.equal(placeName("messages.0.2"), "Message 1, block 3");
  assert.equal(placeName("system"), "System");
  assert.equal(valueText(0), "0");
  assert.equal(valueText(null), "not set");
  assert.equal(valueText(["a"]), '[\n  "a"\n]');
});

test("states without lines are said", () => {
  const part = { state: /** @type {const} */ ("changed"), from: { place: "system", role: "system" }, to: { place: "system", role: "system" }, added: 0, removed: 0, whitespace_only: false, truncated: false, hunks: [] };
  assert.match(partNotes({ ...part, diff: "too_large", line_ends: null })[0], /Too large/);
  assert.match(partNotes({ ...part, diff: "line_ends", line_ends: ["lf", "crlf"] })[0], /from LF to CRLF; nothing else/);
});
