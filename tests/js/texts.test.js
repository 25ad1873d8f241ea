import assert from "node:assert/strict";
import { test } from "node:test";
import { lineEndNote, lineEndsOf } from "../../static/js/line_ends.js";
import { RunText } from "../../static/js/run_text.js";
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
