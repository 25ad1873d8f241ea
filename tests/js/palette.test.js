import assert from "node:assert/strict";
import { test } from "node:test";
import { fitting, score } from "../../static/js/palette/matching.js";

const items = ["Save a version", "Runs", "Run", "Support: refunds", "Größenberater", "🎉 party (v2)"].map((title) => ({ title }));
const titles = (/** @type {string} */ query) => fitting(items, query, 8).map(({ title }) => title);

test("the shorter line that begins with the word goes first", () => {
  assert.deepEqual(titles("run"), ["Run", "Runs"]);
});

test("words may come in any order, and all of them must be there", () => {
  assert.deepEqual(titles("version save"), ["Save a version"]);
  assert.deepEqual(titles("save nothing"), []);
});

test("the beginning of a word counts more than its middle", () => {
  assert.ok(score("Support: refunds", "ref") > score("preferences here", "ref"));
});

test("accents and case do not matter, and signs of expressions are plain letters", () => {
  assert.deepEqual(titles("GROSSEN"), []);
  assert.deepEqual(titles("größen"), ["Größenberater"]);
  assert.deepEqual(titles("grosse"), []);
  assert.deepEqual(titles("(v2)"), ["🎉 party (v2)"]);
  assert.deepEqual(titles("a+*["), []);
});

test("nothing typed keeps the given order, up to as many as fit", () => {
  assert.equal(fitting(items, "  ", 2).length, 2);
});
