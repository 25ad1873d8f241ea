import assert from "node:assert/strict";
import { test } from "node:test";
import { editorPosition, textOffset, withoutBlanks } from "../../static/js/review/offsets.js";
import { inOrder, placeWords } from "../../static/js/review/thread_words.js";

const TEXTS = ["", "plain", "a\nb\nc", "a\r\nb\r\nc", "\r\n\r\n", "one\rtwo", "a\r\n\nb\r\r\nc", "🙂\r\ncafe\u0301\r\nשלום", "x\r\n".repeat(50)];

/* What an editor makes of a text: each line end is one. */
const edited = (/** @type {string} */ text) => text.replace(/\r\n|\r/g, "\n");

test("a place in the editor is the same place in the text, whatever its line ends are", () => {
  for (const text of TEXTS) {
    const doc = edited(text);
    for (let position = 0; position <= doc.length; position += 1) {
      const offset = textOffset(text, position);
      assert.equal(edited(text.slice(0, offset)), doc.slice(0, position), JSON.stringify([text, position]));
      assert.equal(editorPosition(text, offset), position, JSON.stringify([text, position]));
    }
  }
});

test("blanks at the ends of a selection are not part of the passage", () => {
  assert.deepEqual(withoutBlanks("a  words \r\nb", 1, 11), { start: 3, end: 8 });
  assert.deepEqual(withoutBlanks("words", 0, 5), { start: 0, end: 5 });
  assert.equal(withoutBlanks("a \r\n b", 1, 5), null);
});

/** @param {Record<string, any>} placement @param {Record<string, any>} [more] */
function thread(placement, more = {}) {
  return { id: "1", state: "open", version: 1, quote: "words", placement: { text: null, bytes: null, method: "", confidence: 1, decided_by: null, ...placement }, ...more };
}

test("what was only guessed is asked, what is gone is said, and what moved is told from what stayed", () => {
  assert.equal(placeWords(thread({ state: "outdated" }), 2).words, "Outdated");
  assert.match(placeWords(thread({ state: "suggested", method: "similar", confidence: 0.82 }), 2).about, /82 %/);
  assert.equal(placeWords(thread({ state: "suggested", method: "elsewhere" }), 2).words, "Is this it?");
  assert.equal(placeWords(thread({ state: "carried", method: "unique" }), 2).words, "Moved");
  assert.equal(placeWords(thread({ state: "carried", method: "beside" }), 2).words, "v1");
  assert.equal(placeWords(thread({ state: "written" }), 1).words, "");
  assert.match(placeWords(thread({ state: "accepted", decided_by: { name: "Ada" } }), 2).about, /Ada said/);
});

test("outdated comments come first, then those on all of it, then from top to bottom, resolved ones last", () => {
  const at = (/** @type {number} */ text, /** @type {number} */ start) => ({ state: "carried", text, bytes: { start, end: start + 1 } });
  const given = [
    thread(at(1, 5), { id: "c" }),
    thread(at(0, 9), { id: "b" }),
    thread(at(0, 2), { id: "r", state: "resolved" }),
    thread({ state: "whole" }, { id: "w" }),
    thread(at(0, 2), { id: "a" }),
    thread({ state: "outdated" }, { id: "o" }),
  ];
  assert.deepEqual(given.sort(inOrder).map(({ id }) => id), ["o", "w", "a", "b", "c", "r"]);
});
