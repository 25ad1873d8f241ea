import assert from "node:assert/strict";
import { test } from "node:test";
import { valuesLine } from "../../static/js/past_values.js";
import { sameSpec } from "../../static/js/spec.js";
import { namePlaces, openName, strays, substitute } from "../../static/js/template.js";
import { portion, UnsentValues, withoutRefused } from "../../static/js/value_keeper.js";
import { CardSet, jsonProblem, renameProblem } from "../../static/js/variable_cards.js";
import { completedName } from "../../static/js/variable_completion.js";
import { renamedContent } from "../../static/js/variable_rename.js";

/** @param {string} text @param {string} from @param {string} to */
const renamed = (text, from, to) => renamedContent(text, from, to).content;

/** @type {[string, [string, string][]][]} */
const STRAYS = [
  ["plain { and } and {a}", []],
  ["{{name}} {{ größe }} {{質問}}", []],
  ["{{{{literal}} and {{{{", []],
  ["{{name", [["unclosed", "{{name"]]],
  ["{{name} x", [["unclosed", "{{name"]]],
  ["{{one\ntwo", [["unclosed", "{{one"]]],
  ["{{x{{y}}", [["unclosed", "{{x"]]],
  ["{{{name}}}", []],
  ["{{{{{{open", [["unclosed", "{{open"]]],
  ["{{a.b}} {{}} {{ }} {{two words}}", [["name", "{{a.b}}"], ["name", "{{}}"], ["name", "{{ }}"], ["name", "{{two words}}"]]],
  ["{{#if x}}{{a}}{{/if}}", [["name", "{{#if x}}"], ["name", "{{/if}}"]]],
  ["{{👍}}", [["name", "{{👍}}"]]],
  ["{{a}} }} {{b}}", []],
  [`{{${"n".repeat(101)}}}`, [["name", `{{${"n".repeat(101)}}}`]]],
];

for (const [text, expected] of STRAYS) {
  test(`tells what only looks like a variable in ${JSON.stringify(text).slice(0, 60)}`, () => {
    const found = strays(text);
    assert.deepEqual(found.map(({ kind, raw }) => [kind, raw]), expected);
    for (const { start, end, raw } of found) assert.equal(text.slice(start, end), raw);
  });
}

test("what is told to be sent as written is sent as written", () => {
  for (const [text] of STRAYS) for (const { raw } of strays(text)) assert.equal(substitute(raw, { name: "x", one: "x", x: "x", open: "x" }), raw);
});

test("a name is offered after open braces and not after literal ones", () => {
  assert.deepEqual(openName("Hello {{"), { typed: "", blank: "" });
  assert.deepEqual(openName("Hello {{ na"), { typed: "na", blank: " " });
  assert.deepEqual(openName("{{{grö"), { typed: "grö", blank: "" });
  assert.deepEqual(openName("{{{{{{質"), { typed: "質", blank: "" });
  for (const text of ["", "{", "{ {", "{{{{", "{{{{name", "{{{{{", "{{name}}", "{{two words", "{{a.b"]) assert.equal(openName(text), null, text);
});

test("a chosen name closes its braces once", () => {
  assert.deepEqual(completedName("name", "", ""), { insert: "name}}", replaced: 0, cursor: 6 });
  assert.deepEqual(completedName("name", " ", "! rest"), { insert: "name }}", replaced: 0, cursor: 7 });
  assert.deepEqual(completedName("name", "", "}} rest"), { insert: "name}}", replaced: 2, cursor: 6 });
  assert.deepEqual(completedName("name", " ", " }}"), { insert: "name }}", replaced: 3, cursor: 7 });
});

test("a chosen name takes the place of the rest of the one under the cursor, and of no word of the text", () => {
  assert.deepEqual(completedName("name", "", "me}} rest"), { insert: "name}}", replaced: 4, cursor: 6 });
  assert.deepEqual(completedName("name", "", "word of the text"), { insert: "name}}", replaced: 0, cursor: 6 });
});

test("a rename changes the names and nothing else", () => {
  assert.equal(renamed("{{a}} {{ a }} {{\ta\r\n}} {{ab}} a {{{{a}} {{{a}}}", "a", "größe"), "{{größe}} {{ größe }} {{\tgröße\r\n}} {{ab}} a {{{{a}} {{{größe}}}");
});

test("a rename finds a name however it was composed", () => {
  assert.equal(renamed("{{cafe\u0301}} {{caf\u00e9}}", "caf\u00e9", "bar"), "{{bar}} {{bar}}");
});

test("a rename knows where names stand when other characters take two places", () => {
  assert.deepEqual(namePlaces("😀{{ a }}", "a"), [{ from: 5, to: 6 }]);
});

test("a rename in content blocks changes what takes variables, and counts it", () => {
  const large = { type: "text", text: { body: "f".repeat(64) } };
  const call = { type: "tool_use", id: "t", name: "n", input: { x: "{{a}}" } };
  const blocks = [{ type: "text", text: "{{a}} {{ a }}" }, call, { type: "tool_result", tool_use_id: "t", content: "{{a}}" }, large];
  assert.deepEqual(renamedContent(blocks, "a", "b"), {
    content: [{ type: "text", text: "{{b}} {{ b }}" }, call, { type: "tool_result", tool_use_id: "t", content: "{{b}}" }, large],
    places: 3,
    texts: 2,
  });
});

test("a new name must be one, and free", () => {
  const taken = ["a", "caf\u00e9"];
  assert.equal(renameProblem("b", "a", taken), "");
  assert.equal(renameProblem(" a ", "a", taken), "");
  assert.match(renameProblem("cafe\u0301", "a", taken), /already a variable café/);
  assert.match(renameProblem("two words", "a", taken), /letters, digits/);
  assert.match(renameProblem("  ", "a", taken), /needs a name/);
  assert.match(renameProblem("x".repeat(101), "a", taken), /at most 100/);
});

test("JSON that is not finished is told with its place", () => {
  assert.equal(jsonProblem('{"a": [1, 2, null]}'), "");
  assert.match(jsonProblem('{"a": 1,\n "b" 2}'), /line 2/);
  assert.notEqual(jsonProblem(""), "");
});

/** @param {any} cards */
function cardSet(cards) {
  const set = new CardSet();
  set.load(cards);
  return set;
}

test("cards that nobody changed are part of the version as they were saved", () => {
  const saved = [{ name: "a", default: "1" }, { name: "b", type: "json" }];
  for (const cards of [undefined, [], saved]) assert.equal(cardSet(cards).read(), cards);
});

test("of two cards of one name, which no version is saved with any more, the last is read", () => {
  const [a, b] = [{ name: "a", default: "1" }, { name: "b", type: "json", description: "" }];
  const last = { name: "a", type: "text", description: "", default: "2" };
  assert.deepEqual(cardSet([a, b, { name: "a", default: "2" }]).read(), [last, b]);
});

test("a changed card is unsaved work, and changed back it is none", () => {
  const saved = [{ name: "a", type: "text", description: "" }];
  const set = cardSet(saved);
  const isSaved = () => sameSpec(/** @type {any} */ ({ variables: saved }), /** @type {any} */ ({ variables: set.read() }));
  set.change("a", { default: "" });
  assert.deepEqual(set.read(), [{ name: "a", type: "text", description: "", default: "" }]);
  assert.equal(isSaved(), false);
  set.change("a", { default: undefined });
  assert.equal(isSaved(), true);
});

test("no default and the empty text as a default are told apart", () => {
  const set = cardSet([{ name: "none" }, { name: "empty", default: "" }, { name: "null", default: null }]);
  assert.deepEqual([set.get("none").default, set.get("empty").default, set.get("null").default], [undefined, "", undefined]);
});

test("a card that says nothing and never did is none", () => {
  const set = cardSet(undefined);
  set.change("a", { description: "x" });
  assert.equal(set.read()?.length, 1);
  set.change("a", { description: "" });
  assert.equal(set.read(), undefined);
});

test("a renamed card keeps its place and what it says", () => {
  const set = cardSet([{ name: "a", type: "json", default: "[]" }, { name: "b" }]);
  set.rename("a", "c");
  assert.deepEqual(set.read()?.map(({ name, type, default: given }) => [name, type, given]), [["c", "json", "[]"], ["b", "text", undefined]]);
});

test("a card follows the undo and the redo of its rename in the texts", () => {
  const set = cardSet([{ name: "a", default: "1" }]);
  set.rename("a", "b");
  set.follow(["b"]);
  assert.deepEqual(set.names, ["b"]);
  set.follow(["a"]);
  assert.deepEqual(set.names, ["a"]);
  set.follow(["b"]);
  assert.deepEqual(set.names, ["b"]);
});

test("a card stays while its old name is still in a text", () => {
  const set = cardSet([{ name: "a" }]);
  set.rename("a", "b");
  set.follow(["a", "b"]);
  assert.deepEqual(set.names, ["b"]);
});

test("what is declared and in no text is unused, what is in a text and not declared is told where others are", () => {
  const set = cardSet([{ name: "a" }, { name: "b" }]);
  assert.deepEqual([set.unused(["b", "c"]), set.undeclared(["b", "c"])], [["a"], ["c"]]);
  assert.deepEqual(cardSet(undefined).undeclared(["c"]), []);
});

test("past values are told in one line, the empty text by name", () => {
  const line = (/** @type {Record<string, string>} */ values) => valuesLine(values).replace(/[\u2068\u2069]/g, "");
  assert.equal(line({ name: "Ada", tone: "", blanks: " \n " }), "name: Ada; tone: (empty); blanks: (blanks)");
  assert.equal(line({ text: `${"👍".repeat(70)}` }), `text: ${"👍".repeat(60)}…`);
  assert.equal(line(Object.fromEntries([..."abcdef"].map((name) => [name, "1"]))), "a: 1; b: 1; c: 1; d: 1; and 2 more");
});

/* A store that takes so many characters. */
function store(room = Infinity) {
  /** @type {Map<string, string>} */
  const kept = new Map();
  return {
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    removeItem: (/** @type {string} */ key) => void kept.delete(key),
    setItem: (/** @type {string} */ key, /** @type {string} */ text) => {
      if (text.length > room) throw new DOMException("full", "QuotaExceededError");
      kept.set(key, text);
    },
  };
}

test("two tabs keep what the server does not have side by side, and settle only what it took", () => {
  Object.assign(globalThis, { localStorage: store() });
  const [one, other] = [new UnsentValues("p", "me"), new UnsentValues("p", "me")];
  one.add({ a: "1" });
  other.add({ b: "2", c: null });
  one.add({ a: "newer" });
  assert.deepEqual(one.read(), { a: "newer", b: "2", c: null });
  one.settle({ a: "1", c: null });
  assert.deepEqual(other.read(), { a: "newer", b: "2" });
  assert.deepEqual(new UnsentValues("p", "somebody else").read(), {});
});

test("a full store is said, not thrown", () => {
  Object.assign(globalThis, { localStorage: store(20) });
  const unsent = new UnsentValues("p", "me");
  assert.equal(unsent.add({ a: "1" }), true);
  assert.equal(unsent.add({ a: "x".repeat(50) }), false);
  assert.deepEqual(unsent.read(), { a: "1" });
});

test("large values go out in several calls, in order, none left out", () => {
  const large = "x".repeat(900_000);
  const all = { a: large, b: "1", c: large, d: null, e: large };
  const calls = [];
  for (let [now, rest] = portion(all); Object.keys(now).length > 0; [now, rest] = portion(rest)) calls.push(Object.keys(now));
  assert.deepEqual(calls, [["a", "b"], ["c", "d"], ["e"]]);
  assert.deepEqual(portion({ huge: large + large, b: "1" }), [{ huge: large + large }, { b: "1" }]);
});

test("a refused value does not take the others with it", () => {
  const sent = { a: "1", b: "2" };
  assert.deepEqual(withoutRefused(sent, "values.a"), [{ a: "1" }, { b: "2" }]);
  assert.deepEqual(withoutRefused(sent, "body"), [sent, {}]);
  assert.deepEqual(withoutRefused(sent, "values.other"), [sent, {}]);
});
