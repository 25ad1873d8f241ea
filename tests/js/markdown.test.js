import assert from "node:assert/strict";
import { test } from "node:test";
import { definesLinks, GrowingMarkdown, wholeTree } from "../../static/js/markdown/growing.js";

/** @typedef {import("../../static/js/markdown/tree.js").Tree} Tree */

/** All text of a tree, and its elements with their attributes. @param {Tree[]} trees @returns {{text: string, elements: import("../../static/js/markdown/tree.js").Branch[]}} */
function flat(trees) {
  const elements = [];
  let text = "";
  const open = [...trees].reverse();
  while (open.length > 0) {
    const tree = open.pop();
    if (typeof tree === "string") text += tree;
    else if (tree) {
      elements.push(tree);
      open.push(...[...tree.children].reverse());
    }
  }
  return { text, elements };
}

const shown = (/** @type {string} */ source) => flat(wholeTree(source));
const tags = (/** @type {string} */ source) => shown(source).elements.map(({ tag }) => tag);

test("words in angle brackets and other HTML are shown as the text that they are", () => {
  for (const source of ["say <channel>", '<img src=x onerror="alert(1)">', '<iframe srcdoc="<script>1</script>"></iframe>', "a <b>c</b> <!-- d -->"]) {
    assert.equal(shown(source).text, source);
    assert.deepEqual(tags(source), ["p"]);
  }
});

test("a link leads to http, https or mailto and nowhere else", () => {
  const refused = ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//evil.example", "/own/page", "java&#115;cript:alert(1)", "ftp://a.example"];
  for (const address of refused) {
    assert.ok(!tags(`[x](${address})`).includes("a"), address);
    assert.ok(!tags(`<${address}>`).includes("a"), address);
    assert.ok(!tags(`[x][y]\n\n[y]: ${address}`).includes("a"), address);
  }
  const link = shown("[x](https://a.example/b?c)").elements.find(({ tag }) => tag === "a");
  assert.equal(link?.attributes.href, "https://a.example/b?c");
  assert.match(link?.attributes.rel ?? "", /noopener/);
});

test("who reads a link sees where it leads, unless its words say so", () => {
  assert.equal(shown("[my bank](https://evil.example/x)").text, "my bank (evil.example)");
  assert.equal(shown("see https://a.example/b.").text, "see https://a.example/b.");
});

test("an image is a link, so nothing is fetched unasked", () => {
  const { elements, text } = shown("![a cat](http://elsewhere.example/cat.png)");
  assert.deepEqual(elements.map(({ tag }) => tag), ["p", "a", "bdi"]);
  assert.equal(text, "Image: a cat (elsewhere.example)");
});

test("only these elements and attributes can ever come of a text", () => {
  const source = "# a\n\n1. b\n\n> c\n\n```html\n<d>\n```\n\n| e | f |\n|:-:|--:|\n| g | h |\n\n*i* **j** ~~k~~ `l` [m](http://n.example) ![o](http://p.example/q)\n\n---\n\n- r";
  const known = { tags: new Set(), attributes: new Set() };
  for (const { tag, attributes } of shown(source).elements) {
    known.tags.add(tag);
    for (const name of Object.keys(attributes)) known.attributes.add(name);
  }
  assert.deepEqual([...known.tags].sort(), ["a", "bdi", "blockquote", "button", "code", "div", "em", "h3", "hr", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"]);
  assert.deepEqual([...known.attributes].sort(), ["class", "data-copy-code", "dir", "href", "rel", "tabindex", "target", "title", "type"]);
});

test("a line end within a paragraph is kept", () => {
  assert.deepEqual(tags("one\ntwo"), ["p", "br"]);
});

const EVERYTHING = "# Hi\n\npara one\nstill\n\n- a\n- b\n\n  more b\n\n```js\nlet x\n\nlet y\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nand [x](http://e.example)\r\n\r\nSetext\n===\n\n> quote\nlazy\n\n    code\n\n    more\n\n1. one\n\n2. two\n\n* c\n\n* d\n\n\tmore d\n\nend";

/** @param {string} text @param {number} step */
function grown(text, step) {
  const growing = new GrowingMarkdown();
  /** @type {Tree[]} */
  let blocks = [];
  let settled = 0;
  for (let upto = step; upto < text.length + step; upto += step) {
    const read = growing.read(text.slice(0, upto));
    blocks = [...blocks.slice(0, settled), ...read.blocks];
    settled += read.settled;
  }
  return { blocks, at: growing.at };
}

test("a text that comes in pieces ends as the same text that came at once", () => {
  for (let step = 1; step <= EVERYTHING.length; step += 1) assert.deepEqual(grown(EVERYTHING, step).blocks, wholeTree(EVERYTHING), `in pieces of ${step}`);
});

test("what is settled is not read again", () => {
  const paragraphs = Array.from({ length: 2000 }, (_item, index) => `Paragraph ${index} of a long answer, with **bold** words.`).join("\n\n");
  const { blocks, at } = grown(paragraphs, 97);
  assert.equal(blocks.length, 2000);
  assert.ok(at > paragraphs.length - 200, String(at));
});

test("a link that is defined late is one in the whole text, and a definition that was half there is forgotten", () => {
  const text = "[late] and [early][e]\n\n[e]: http://early.example/path\n\nmore [e]\n\n[late]: http://late.example\n\nend";
  assert.ok(definesLinks(text));
  const links = (/** @type {Tree[]} */ trees) => flat(trees).elements.filter(({ tag }) => tag === "a").map(({ attributes }) => attributes.href);
  assert.deepEqual(links(wholeTree(text)), ["http://late.example/", "http://early.example/path", "http://early.example/path"]);
  assert.ok(links(grown(text, 1).blocks).every((address) => address === "http://early.example/path"));
});

test("nesting without end neither throws nor hangs", () => {
  for (const source of [">".repeat(20_000), "[".repeat(20_000), "*".repeat(20_000) + "a", "- ".repeat(5_000), "`".repeat(20_001), "<".repeat(20_000)]) wholeTree(source);
});
