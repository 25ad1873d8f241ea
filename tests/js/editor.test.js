import assert from "node:assert/strict";
import { test } from "node:test";
import { endsInBlank, newBlock, openCalls, outline, prefillOf, summaryOf } from "../../static/js/editor/content_blocks.js";
import { doubts, overflowWords, placeWords, sizeFacts, warningOf } from "../../static/js/editor/estimate_words.js";
import { factsOf, matching } from "../../static/js/editor/model_words.js";
import { parameterProblems } from "../../static/js/editor/parameter_problems.js";
import { thinkingKind, thinkingOf } from "../../static/js/editor/thinking.js";
import { choiceOf, kindOf } from "../../static/js/editor/tool_choice.js";
import { addingEdit, elementSpans, newTool, readTools } from "../../static/js/editor/tools_text.js";
import { textsOf } from "../../static/js/large/references.js";

/** @param {string} text @param {{from: number, to: number, insert: string} | null} edit */
const applied = (text, edit) => (edit ? text.slice(0, edit.from) + edit.insert + text.slice(edit.to) : null);
/** @type {import("../../static/js/spec.js").Spec} */
const spec = { model: "m", max_tokens: 2048, messages: [{ role: "user", content: "x" }] };

test("tools are read by name, and what cannot be read says why", () => {
  assert.deepEqual(readTools('[{"name":"a","description":"d"},{"name":5}]').tools, [
    { name: "a", description: "d" },
    { name: "", description: "" },
  ]);
  assert.deepEqual(readTools("  "), { tools: [], problem: "" });
  assert.match(readTools("[{").problem, /^Not JSON yet/);
  assert.match(readTools('{"name":"a"}').problem, /array/);
});

test("the elements of an array are found by their place, whatever stands in their texts", () => {
  const text = ' [ {"name": "a,]}[", "b": ["x\\"]", {}]} ,\n  3, "t,"  ] ';
  assert.deepEqual(
    elementSpans(text).map(({ from, to }) => text.slice(from, to)),
    ['{"name": "a,]}[", "b": ["x\\"]", {}]}', "3", '"t,"'],
  );
  assert.deepEqual(elementSpans("[]"), []);
  assert.deepEqual(elementSpans(" [ \n ]"), []);
});

test("adding a tool touches no character of the others", () => {
  const tool = newTool(["my_tool"]);
  assert.equal(tool.name, "my_tool_2");
  for (const text of ["", "[]", "[ \n]", '[{"name":"a", "z":1}]', '[\n  {"name": "a"}\n]\n', '[{"name":"]"}  ]']) {
    const after = applied(text, addingEdit(text, tool)) ?? "";
    const list = JSON.parse(after);
    assert.deepEqual(list.at(-1), tool);
    assert.equal(list.length, readTools(text).tools.length + 1);
    const [first] = elementSpans(text);
    if (first) assert.ok(after.startsWith(text.slice(0, first.to)));
  }
  assert.equal(addingEdit("[{", tool), null);
});

test("a tool choice keeps what no control shows and is left as it was when nothing changes", () => {
  const saved = { type: "auto", disable_parallel_tool_use: true, later: 1 };
  assert.equal(choiceOf(saved, kindOf(saved), true), saved);
  assert.deepEqual(choiceOf(saved, "any", true), { type: "any", disable_parallel_tool_use: true });
  assert.deepEqual(choiceOf(saved, "auto", false), { type: "auto" });
  assert.deepEqual(choiceOf(undefined, "tool:a:b", false), { type: "tool", name: "a:b" });
  assert.equal(choiceOf(saved, "", true), undefined);
  const explicit = { type: "any", disable_parallel_tool_use: false };
  assert.equal(choiceOf(explicit, "any", false), explicit);
  const odd = { type: "some" };
  assert.equal(choiceOf(odd, kindOf(odd), false), odd);
});

test("thinking keeps its other fields; an empty budget is left out", () => {
  const saved = { type: "enabled", budget_tokens: 2048, display: "omitted" };
  assert.equal(thinkingOf(saved, "enabled", "2048"), saved);
  assert.deepEqual(thinkingOf(saved, "enabled", "4096"), { type: "enabled", budget_tokens: 4096, display: "omitted" });
  assert.deepEqual(thinkingOf(saved, "enabled", ""), { type: "enabled", display: "omitted" });
  assert.deepEqual(thinkingOf(saved, "adaptive", "2048"), { type: "adaptive" });
  assert.equal(thinkingOf(saved, "", ""), undefined);
  assert.equal(thinkingKind({ type: "between_tools" }), "saved");
});

test("what the API version or the other parameters forbid is told at the field", () => {
  const sampled = { ...spec, api_version: "2026-10-21", temperature: 0, top_k: 5 };
  assert.deepEqual(Object.keys(parameterProblems(sampled, [])), ["temperature", "top_k"]);
  assert.deepEqual(parameterProblems({ ...spec, temperature: 0 }, []), {});
  assert.match(parameterProblems({ ...spec, top_p: "abc" }, []).top_p, /Not a number/);
  assert.match(parameterProblems({ ...spec, thinking: { type: "enabled", budget_tokens: 2048 } }, []).thinking, /less than max tokens \(2,048\)/);
  assert.match(parameterProblems({ ...spec, thinking: { type: "enabled" } }, []).thinking, /budget/);
  assert.deepEqual(parameterProblems({ ...spec, thinking: { type: "enabled", budget_tokens: 1024 } }, []), {});
  const forced = { ...spec, tools: "[]", tool_choice: { type: "tool", name: "gone" } };
  assert.match(parameterProblems(forced, ["here"]).tool_choice, /no tool named gone/);
  assert.match(parameterProblems({ ...spec, tool_choice: { type: "any" } }, []).tool_choice, /together with tools/);
  assert.deepEqual(parameterProblems({ ...forced, tools: { body: "00" } }, []), {});
});

test("calls that wait are those without a result in the message after", () => {
  const calls = [{ type: "text", text: "a" }, { type: "tool_use", id: "1" }, { type: "tool_use", id: "2" }];
  assert.deepEqual(openCalls(calls, "text"), ["1", "2"]);
  assert.deepEqual(openCalls(calls, [{ type: "tool_result", tool_use_id: "2" }]), ["1"]);
  assert.deepEqual(openCalls("text", []), []);
  assert.equal(newBlock("tool_result", { openCalls: ["1", "2"] }).tool_use_id, "1");
  assert.match(newBlock("tool_use").id, /^toolu_[a-z0-9]{12}$/);
});

test("the prefill is the last text of an assistant's last message", () => {
  assert.equal(prefillOf([{ role: "assistant", content: "{ " }]), "{ ");
  assert.equal(prefillOf([{ role: "assistant", content: [{ type: "text", text: "a" }, { type: "text", text: "b\n" }] }]), "b\n");
  assert.equal(prefillOf([{ role: "assistant", content: "a" }, { role: "user", content: "b " }]), "");
  assert.equal(prefillOf([]), "");
  assert.ok(endsInBlank("{ "));
  assert.ok(!endsInBlank("{"));
  assert.ok(!endsInBlank(""));
});

test("blocks are summed up in a few words", () => {
  assert.equal(summaryOf({ type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }), "image/png, 3 bytes");
  assert.equal(summaryOf({ type: "document", title: "Act", source: { type: "url", url: "https://x/y" } }), "Act, https://x/y");
  assert.equal(summaryOf({ type: "thinking", thinking: "first\nsecond" }), "first");
  assert.equal(outline([{ type: "text", text: "a" }, { type: "image", source: {} }]), "a\n[Image]");
});

test("a result that is a list of blocks is no text of the version", () => {
  const content = [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "no" }] }, { type: "tool_result", tool_use_id: "2", content: "yes" }];
  assert.deepEqual(textsOf({ messages: [{ role: "user", content }] }), ["yes"]);
});

/** @type {import("../../static/js/editor/estimate_words.js").Size} */
const size = {
  input_tokens: 1234, at_least: null, reason: "", context: 2048, max_tokens: 1024, room: 814, overflow: "answer",
  largest: { field: "messages.1", bytes: 900, tokens: 900 }, cost: { input: 0.0123, answer_most: 0.05 }, problems: [],
};

test("the foot of the editor says tokens, cost and the largest part", () => {
  assert.deepEqual(sizeFacts(size), ["1,234 tokens in", "at most 814 out", "$0.012 in, at most $0.062 with the answer", "largest: message 2, about 900"]);
  assert.deepEqual(sizeFacts({ ...size, input_tokens: null, reason: "Nobody answers." }), ["Tokens not known: Nobody answers."]);
  assert.deepEqual(sizeFacts({ ...size, cost: null, largest: null, room: null }), ["1,234 tokens in", "at most 1,024 out"]);
});

test("what does not fit is said in words", () => {
  assert.match(overflowWords(size), /leaves 814 tokens for the answer.*asks for 1,024.*has 2,048/);
  assert.match(overflowWords({ ...size, overflow: "input", input_tokens: null, at_least: 3000 }), /at least 3,000 tokens/);
  assert.equal(overflowWords({ ...size, overflow: null }), "");
});

test("a run asks about what does not fit and what will be refused, and about no note", () => {
  /** @type {import("../../static/js/editor/estimate_words.js").Size["problems"]} */
  const problems = [
    { field: "tool_choice", message: "No.", level: "error" },
    { field: "messages.2.content.0", message: "Not so.", level: "error" },
    { field: "output_schema", message: "Only a note.", level: "note" },
  ];
  assert.deepEqual(doubts({ ...size, overflow: null, problems }), ["Tool choice: No.", "Message 3: Not so."]);
  assert.equal(doubts({ ...size, problems }).length, 3);
  assert.deepEqual(doubts(null), []);
  assert.equal(warningOf({ ...size, overflow: null, problems }), "A run would be refused. Tool choice: No. And 1 more.");
  assert.match(warningOf(size), /^The prompt leaves 814/);
  assert.equal(warningOf({ ...size, overflow: null }), "");
  assert.equal(placeWords("output_schema.type"), "output schema");
});

test("models are found by any part of their name, and told with what they cost or how busy they are", () => {
  const models = [{ id: "claude-b", provider: "anthropic" }, { id: "tiny", provider: "self-hosted" }, { id: "b-claude", provider: "x" }, { id: "tiny", provider: "anthropic" }];
  assert.deepEqual(matching(models, "claude").map(({ id }) => id), ["claude-b", "b-claude"]);
  assert.deepEqual(matching(models, "b anth").map(({ id }) => id), ["claude-b"]);
  assert.deepEqual(matching(models, "").map(({ id, provider }) => `${id} ${provider}`), ["claude-b anthropic", "tiny self-hosted", "b-claude x", "tiny anthropic"]);
  assert.equal(
    factsOf({ id: "m", provider: "anthropic", context: 200000, price: { input_per_mtok: 3, output_per_mtok: 15 } }),
    "Anthropic · 200,000 tokens of context · $3.00 in, $15.00 out per million tokens",
  );
  assert.equal(factsOf({ id: "m", load: { waiting: 3, running: 2, slots: 2, tokens_per_s: 41.2 } }), "3 waiting, 41 tokens/s");
  assert.equal(factsOf({ id: "m", load: { waiting: 0, running: 0, slots: 2, tokens_per_s: null } }), "free now");
  assert.equal(factsOf({ id: "m", available: false }), "does not answer");
});
