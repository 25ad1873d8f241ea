import assert from "node:assert/strict";
import { test } from "node:test";
import { asMessages, Conversation, literal, missing, missingWords, replyContent, takenApart } from "../../static/js/talk/conversation.js";
import { names, substitute } from "../../static/js/template.js";

/** @param {string} id @param {string | null} parent @returns {import("../../static/js/talk/conversation.js").Node} */
function node(id, parent) {
  return { id, parent, added: [], status: "succeeded", stop_reason: "end_turn", model: "m", output: "", created_at: "" };
}

const call = (/** @type {string} */ id, name = "get_weather") => ({ type: "tool_use", id, name, input: { city: "Köln", at: { "b": 1, "a": [0] } } });
const typed = (/** @type {string} */ value, isError = false) => ({ value, isError, isEmpty: false });

test("a conversation is a tree: paths, siblings in the order they were made, and where a reply leads", () => {
  const tree = new Conversation([node("5", "3"), node("3", "1"), node("1", null), node("4", "1"), node("2", "1")]);
  assert.deepEqual(tree.path("5").map((each) => each.id), ["1", "3", "5"]);
  assert.deepEqual(tree.siblings("3").map((each) => each.id), ["2", "3", "4"]);
  assert.deepEqual(tree.siblings("1").map((each) => each.id), ["1"]);
  assert.deepEqual(tree.repliesTo("4"), []);
  assert.equal(tree.newestFrom("3"), "5");
  assert.deepEqual(tree.path("gone"), []);
});

test("a node whose parent is on no page yet begins its path, and a circle ends", () => {
  assert.deepEqual(new Conversation([node("9", "8")]).path("9").map((each) => each.id), ["9"]);
  assert.ok(new Conversation([node("1", "2"), node("2", "1")]).path("1").length <= 3);
});

test("results come before the text, in the order of the calls, with their error flag", () => {
  const answers = new Map([["b", typed("no", true)], ["a", typed('{"t": 1}')]]);
  assert.deepEqual(replyContent([call("a"), call("b")], answers, "go on"), [
    { type: "tool_result", tool_use_id: "a", content: '{"t": 1}' },
    { type: "tool_result", tool_use_id: "b", content: "no", is_error: true },
    { type: "text", text: "go on" },
  ]);
  assert.equal(replyContent([], answers, " hi \n"), " hi \n");
});

test("what is missing is named; nothing on purpose is an answer", () => {
  const calls = ["a", "b", "c", "d", "e"].map((id) => call(id, `tool_${id}`));
  const answers = new Map([["a", typed("x")], ["b", { value: "", isError: false, isEmpty: true }]]);
  assert.deepEqual(missing(calls, answers).map((each) => each.id), ["c", "d", "e"]);
  assert.equal(missingWords(missing(calls, answers)), "Answer tool_c, tool_d, tool_e");
  assert.equal(missingWords(calls), "Answer tool_a, tool_b, tool_c and 2 more");
});

test("a reply is taken apart to be edited and put together again unchanged", () => {
  const calls = [call("a"), call("b")];
  const content = replyContent(calls, new Map([["a", typed("x", true)], ["b", { value: "", isError: false, isEmpty: true }]]), "and?");
  const { text, answers } = takenApart(content);
  assert.deepEqual(replyContent(calls, answers, text), content);
  assert.deepEqual(takenApart("only text"), { text: "only text", answers: new Map() });
});

test("braces of a conversation stay text in a version", () => {
  const nasty = ["{{name}}", "{{{x}}}", "{{{{kept}}}}", "a {{ b", "{{{{{five}}}}}", "{ {n} }", "}}{{", "{{{{{{six", "$& {{a}}{{b}}"];
  for (const text of nasty) {
    assert.equal(substitute(literal(text), { name: "no", x: "no", a: "no" }), text);
    assert.deepEqual(names(literal(text)), []);
  }
});

test("a conversation becomes messages in which each call has its result", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
  const answer = [thinking, { type: "text", text: "Let me {{look}}", citations: null }, { ...call("a"), caller: null }];
  const turns = [
    { role: /** @type {const} */ ("assistant"), content: [{ type: "text", text: "Hello\r\n" }] },
    { role: /** @type {const} */ ("user"), content: "Weather?" },
  ];
  assert.deepEqual(asMessages(turns, answer, new Map()), [
    { role: "assistant", content: "Hello\r\n" },
    { role: "user", content: "Weather?" },
    { role: "assistant", content: [thinking, { type: "text", text: "Let me {{{{look}}" }, call("a")] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "" }] },
  ]);
  assert.equal(asMessages([], [{ type: "text", text: "x" }], new Map()).length, 1);
});
