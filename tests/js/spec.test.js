import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, proposedMessage } from "../../static/js/changes.js";
import { keptFields, promptTexts, readNumber, sameSpec, sentence } from "../../static/js/spec.js";

const spec = { model: "m", max_tokens: 1024, messages: [{ role: /** @type {const} */ ("user"), content: "Hello {{name}}" }] };

test("an empty number is absent and 0 is 0", () => {
  assert.equal(readNumber("  "), undefined);
  assert.equal(readNumber("0"), 0);
  assert.equal(readNumber("0.13"), 0.13);
  assert.equal(readNumber("1e999"), "1e999");
  assert.equal(readNumber("abc"), "abc");
});

test("the sentence says what is sent, zero included", () => {
  const full = { ...spec, temperature: 0, stop_sequences: ["a"], tools: '[{"name":"x"},{"name":"y"}]', output_schema: "{}" };
  assert.equal(sentence(full), "m, 1,024 tokens, temperature 0, 1 stop sequence, 2 tools, output schema");
  assert.equal(sentence({ messages: [] }), "no model, no token limit");
});

test("specs are equal whatever the order of their keys", () => {
  assert.ok(sameSpec(spec, { messages: spec.messages, max_tokens: 1024, model: "m" }));
  assert.ok(!sameSpec(spec, { ...spec, temperature: 0 }));
  assert.ok(!sameSpec(null, spec));
});

test("fields without a control are kept", () => {
  assert.deepEqual(keptFields({ ...spec, thinking: { type: "enabled" }, later: { kind: "new" } }), { later: { kind: "new" } });
});

test("the sentence names thinking and the version without sampling", () => {
  const told = { ...spec, thinking: { type: "enabled", budget_tokens: 2048 }, api_version: "2026-10-21" };
  assert.equal(sentence(told), "m, 1,024 tokens, thinking 2,048, API 2026-10-21");
  assert.equal(sentence({ ...spec, thinking: { type: "disabled" } }), "m, 1,024 tokens");
});

test("texts inside content blocks take variables too", () => {
  const blocks = [{ type: "text", text: "a" }, { type: "image", source: {} }, { type: "tool_result", tool_use_id: "t", content: "b" }];
  assert.deepEqual(promptTexts({ system: "s", messages: [{ role: "user", content: blocks }] }), ["s", "a", "b"]);
});

test("a save proposes a message that is true", () => {
  assert.equal(proposedMessage(null, spec), "First version");
  assert.equal(proposedMessage(spec, { ...spec, temperature: 0 }), "Set temperature to 0");
  assert.equal(proposedMessage({ ...spec, temperature: 1 }, spec), "Remove temperature");
  assert.equal(proposedMessage(spec, { ...spec, system: "x", temperature: 0 }), "Set temperature to 0; add system");
  const before = { ...spec, system: "a", temperature: 0.2, tools: "[]" };
  assert.equal(proposedMessage(before, { ...spec, system: "b", temperature: 0.5 }), "Change system, temperature 0.2 → 0.5; remove tools");
  assert.equal(proposedMessage(before, { ...before, system: "a " }), "Change blanks in system");
  const longer = [...spec.messages, { role: /** @type {const} */ ("assistant"), content: "x" }];
  assert.equal(proposedMessage(spec, { ...spec, messages: longer }), "Add message 2");
  assert.equal(proposedMessage(spec, spec), "");
});

test("a save says how much changed", () => {
  const longer = { ...spec, temperature: 0.5, messages: [{ role: /** @type {const} */ ("user"), content: "Hello {{name}}!" }] };
  assert.deepEqual(differences({ ...spec, temperature: 1 }, longer), ["temperature 1 to 0.5", "message 1 1 character longer"]);
});
