import assert from "node:assert/strict";
import { test } from "node:test";
import { questions, resolved } from "../../static/js/merge_resolve.js";

/** @typedef {import("../../static/js/merge_resolve.js").Choice} Choice */
/** @typedef {import("../../static/js/merge_resolve.js").Conflict} Conflict */

const user = (/** @type {string} */ content) => ({ role: /** @type {const} */ ("user"), content });
/** @type {Conflict} */
const text = {
  place: "messages.1",
  kind: "text",
  base: "a\nb\nc\n",
  ours: "A\nb\nC",
  theirs: "1\nb\n3\n",
  chunks: [
    { text: "A\n", base: "a\n", theirs: "1\n" },
    { text: "b\n", base: null, theirs: null },
    { text: "C", base: "c\n", theirs: "3\n" },
  ],
};
/** @type {Conflict} */
const removed = { place: "messages.0", kind: "message", base: user("x"), ours: user("y"), theirs: null, chunks: [] };
/** @type {Conflict} */
const field = { place: "temperature", kind: "field", base: 0.1, ours: 0.2, theirs: null, chunks: [] };
const merged = { model: "m", temperature: 0.2, messages: [user("y"), user("A\nb\nC"), user("z")] };
const all = [field, removed, text];

/** @param {Record<string, Choice>} choices */
const decided = (choices) => resolved(merged, all, new Map(Object.entries(choices)));

test("each stretch that clashes is a question of its own", () => {
  assert.deepEqual(questions(all).map(({ key, takesBoth, asJson }) => [key, takesBoth, asJson]), [
    ["temperature", false, true],
    ["messages.0", false, false],
    ["messages.1#0", true, false],
    ["messages.1#2", true, false],
  ]);
});

test("without choices our side stands, and nothing is changed in place", () => {
  assert.deepEqual(decided({}), merged);
  assert.notEqual(decided({}).messages, merged.messages);
});

test("theirs may be that something is gone", () => {
  const spec = decided({ temperature: { how: "theirs" }, "messages.0": { how: "theirs" }, "messages.1#0": { how: "theirs" } });
  assert.deepEqual(spec, { model: "m", messages: [user("1\nb\nC"), user("z")] });
});

test("both come one after the other, on lines of their own", () => {
  const spec = decided({ "messages.1#0": { how: "both" }, "messages.1#2": { how: "both" } });
  assert.equal(spec.messages[1].content, "A\n1\nb\nC\n3\n");
  const two = { ...removed, theirs: user("w") };
  assert.deepEqual(resolved(merged, [two], new Map([["messages.0", { how: "both" }]])).messages.slice(0, 2), [user("y"), user("w")]);
});

test("an edit is taken as written; a value that is no text has to be JSON", () => {
  const spec = decided({ temperature: { how: "edit", text: "0.7" }, "messages.0": { how: "edit", text: "mine" }, "messages.1#2": { how: "edit", text: "last" } });
  assert.deepEqual(spec.messages, [user("mine"), user("A\nb\nlast"), user("z")]);
  assert.equal(spec.temperature, 0.7);
  assert.throws(() => decided({ temperature: { how: "edit", text: "warm" } }), SyntaxError);
});
