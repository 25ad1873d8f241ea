import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { names, placeholders, substitute } from "../../static/js/template.js";

/** @type {{text: string, values: Record<string, string>, rendered: string, names: string[]}[]} */
const cases = JSON.parse(readFileSync(new URL("../data/template_cases.json", import.meta.url), "utf8"));

for (const { text, values, rendered, names: expected } of cases) {
  test(`renders ${JSON.stringify(text).slice(0, 80)}`, () => {
    assert.deepEqual(names(text), expected);
    assert.equal(substitute(text, values), rendered);
  });
}

test("a placeholder knows where it stands, in the editor's positions", () => {
  assert.deepEqual(placeholders("😀 {{ größe }}!"), [{ name: "größe", start: 3, end: 14 }]);
});

test("a name like a property of every object is not a value", () => {
  assert.equal(substitute("{{constructor}}", {}), "{{constructor}}");
});
