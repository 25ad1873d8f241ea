/* How JSON that went over the wire is laid out: only white space moves. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { indented } from "../../static/js/json_layout.js";

/** All but the white space between tokens. */
const tokens = (/** @type {string} */ text) => text.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g)?.join("");

test("numbers, escapes, duplicate keys and their order stay as they were written", () => {
  const text = '{"2":1.0,"1":1e400,"big":12345678901234567890,"small":-0.0,"escaped":"\\u0041\\/","2":null,"a":[1E2,true,{}],"b":[]}';
  assert.equal(
    indented(text).shown,
    [
      "{", '  "2": 1.0,', '  "1": 1e400,', '  "big": 12345678901234567890,', '  "small": -0.0,', '  "escaped": "\\u0041\\/",', '  "2": null,',
      '  "a": [', "    1E2,", "    true,", "    {}", "  ],", '  "b": []', "}",
    ].join("\n"),
  );
});

test("what looks like a token inside a string is a string", () => {
  for (const inner of ['\\"', "\\\\", '\\\\\\"', "{[,:]}", " , ", "a\\nb", "\u2028", '\\\\\\\\', "🎈"]) {
    const text = `{"k":"${inner}","l":["${inner}"]}`;
    assert.equal(indented(text).shown, `{\n  "k": "${inner}",\n  "l": [\n    "${inner}"\n  ]\n}`);
  }
});

test("a text with white space of its own is laid out as one without", () => {
  assert.equal(indented(' {\r\n"a" :\t[ 1 , { } , [ ] ] }\n').shown, indented('{"a":[1,{},[]]}').shown);
  for (const whole of ["1.0", '"a b"', "null", "", "  ", "[]"]) assert.equal(indented(whole).shown, whole.trim());
});

test("a text that is no JSON loses nothing but white space and ends", () => {
  for (const broken of ['{"a":', '"open', "]]}}", '{"a" "b"}', "NaN,,", '"\\', "\\\"", "a:b:c"]) {
    assert.equal(tokens(indented(broken).shown), tokens(broken));
  }
});

test("deep nesting is laid out in a length that grows with the text", () => {
  const deep = `${"[".repeat(100_000)}1.0${"]".repeat(100_000)}`;
  const { shown, rest } = indented(deep);
  assert.equal(tokens(shown), deep);
  assert.equal(rest, 0);
  assert.ok(shown.length < 100 * deep.length);
});

test("so much is shown and the rest is counted to the character", () => {
  const text = JSON.stringify({ long: "x".repeat(1000), end: [1, 2] });
  const { shown, rest } = indented(text, 100);
  assert.equal(shown.length, 100);
  assert.equal(text.replace('":"', '": "').slice(0, 97), shown.replace("\n  ", ""));
  assert.equal(rest, text.length - 96);
  assert.deepEqual(indented("[1]", 0), { shown: "", rest: 3 });
});

test("a megabyte of one string, of quotes and of small members takes no time that anybody sees", () => {
  const row = { id: 1, text: "some words", flags: [true, null] };
  for (const value of ["x".repeat(1e6), '"\\'.repeat(250_000), Array.from({ length: 20_000 }, () => row)]) {
    const text = JSON.stringify({ value });
    const start = performance.now();
    assert.equal(tokens(indented(text).shown)?.length, tokens(text)?.length);
    // Some 40 ms where nothing else runs; a quadratic one takes minutes.
    assert.ok(performance.now() - start < 5000);
  }
});
