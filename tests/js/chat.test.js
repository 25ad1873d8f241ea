import assert from "node:assert/strict";
import { test } from "node:test";
import { isFinal, waitBefore } from "../../static/js/chat/backoff.js";
import { dayOf, dayWords, shiftDay } from "../../static/js/chat/days.js";
import { sends } from "../../static/js/chat/enter.js";
import { folded } from "../../static/js/chat/folding.js";
import { Inbox } from "../../static/js/chat/inbox.js";
import { blocksOf, spansOf } from "../../static/js/chat/markdown.js";
import { markOf, Messages } from "../../static/js/chat/messages.js";
import { safeAddress } from "../../static/js/safe_address.js";

const message = (/** @type {number} */ seq, more = {}) => ({
  id: `m${seq}`,
  conversation: "c",
  seq,
  sender: "p",
  client_msg_id: `k${seq}`,
  body: `text ${seq}`,
  reference: null,
  version: 1,
  created_at: "2026-03-29T10:00:00Z",
  edited_at: null,
  deleted: false,
  ...more,
});

test("only the event after the last is taken; repeats are silent, holes are noticed", () => {
  const inbox = new Inbox();
  assert.equal(inbox.take(1), "gap");
  inbox.begin(4);
  assert.equal(inbox.take(5), "next");
  assert.equal(inbox.take(5), "seen");
  assert.equal(inbox.take(3), "seen");
  assert.equal(inbox.take(7), "gap");
  assert.equal(inbox.have, 5);
  assert.equal(inbox.take(6), "next");
  assert.equal(inbox.take(7), "next");
});

test("a second welcome does not move what the page has, a reset does", () => {
  const inbox = new Inbox();
  inbox.begin(4);
  inbox.take(5);
  inbox.begin(5);
  assert.equal(inbox.have, 5);
  inbox.reset(2);
  assert.equal(inbox.take(3), "next");
});

test("what is missing in a page of the inbox is gone, and said to be", () => {
  const inbox = new Inbox();
  inbox.begin(0);
  assert.equal(inbox.takeFromPage(1), "next");
  assert.equal(inbox.takeFromPage(9), "jump");
  assert.equal(inbox.takeFromPage(9), "seen");
  assert.equal(inbox.take(10), "next");
});

test("a message is there once, in the order of seq, whatever the clocks say", () => {
  const messages = new Messages();
  assert.equal(messages.put(message(2, { created_at: "2026-03-29T09:00:00Z" })), "new");
  assert.equal(messages.put(message(3)), "new");
  assert.equal(messages.put(message(1)), "new");
  assert.equal(messages.put(message(2)), "known");
  assert.deepEqual(messages.ordered.map(({ seq }) => seq), [1, 2, 3]);
});

test("a higher version wins, in whatever order they come", () => {
  const messages = new Messages();
  messages.put(message(1, { version: 3, body: null, deleted: true }));
  assert.equal(messages.put(message(1, { version: 2, body: "edited" })), "known");
  assert.equal(messages.put(message(1, { version: 4 })), "changed");
  assert.equal(messages.ordered.length, 1);
  assert.equal(messages.last?.version, 4);
});

test("marks follow the cursors of the other one", () => {
  assert.equal(markOf(5, { delivered: 4, read: 3 }), "sent");
  assert.equal(markOf(4, { delivered: 4, read: 3 }), "delivered");
  assert.equal(markOf(3, { delivered: 4, read: 3 }), "read");
});

test("pauses grow, are capped before they are spread, and a restart spreads everybody", () => {
  const longest = () => 1;
  assert.deepEqual([1, 2, 3].map((attempt) => waitBefore(attempt, 1006, longest)), [1000, 2000, 4000]);
  assert.equal(waitBefore(40, 1006, longest), 30_000);
  assert.equal(waitBefore(40, 1006, () => 0.5), 15_000);
  assert.equal(waitBefore(0, 1012, longest), 3000);
  assert.equal(waitBefore(0, 1006, longest), 500);
});

test("who was replaced or signed out stays away, who was slow comes back", () => {
  assert.deepEqual([4400, 4401, 4403, 4404, 4409].filter(isFinal), [4400, 4401, 4403, 4404, 4409]);
  assert.deepEqual([1001, 1006, 1012, 1013, 4000, 4408].filter(isFinal), []);
});

test("a day is the viewer's, with 23, 24 or 25 hours", () => {
  assert.equal(dayOf(new Date("2026-03-28T22:59:59Z"), "Europe/Berlin"), "2026-03-28");
  assert.equal(dayOf(new Date("2026-03-28T23:00:00Z"), "Europe/Berlin"), "2026-03-29");
  assert.equal(dayOf(new Date("2026-03-29T21:59:59Z"), "Europe/Berlin"), "2026-03-29");
  assert.equal(dayOf(new Date("2026-03-29T22:00:00Z"), "Europe/Berlin"), "2026-03-30");
  assert.equal(dayOf(new Date("2026-10-25T22:59:59Z"), "Europe/Berlin"), "2026-10-25");
  assert.equal(dayOf(new Date("2026-10-25T23:00:00Z"), "Europe/Berlin"), "2026-10-26");
  assert.equal(dayOf(new Date("2026-01-01T03:00:00Z"), "America/New_York"), "2025-12-31");
});

test("yesterday is the day before in the calendar, also after a short night", () => {
  assert.equal(shiftDay("2026-03-30", -1), "2026-03-29");
  assert.equal(shiftDay("2024-03-01", -1), "2024-02-29");
  assert.equal(dayWords("2026-03-29", "2026-03-29"), "Today");
  assert.equal(dayWords("2026-03-28", "2026-03-29"), "Yesterday");
  assert.equal(dayWords("2026-03-24", "2026-03-29", "en"), "Tuesday");
  assert.equal(dayWords("2026-03-01", "2026-03-29", "en-GB"), "Sun 1 March");
  assert.match(dayWords("2025-12-31", "2026-03-29", "en-GB"), /2025/);
});

const key = { key: "Enter", shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, isComposing: false, keyCode: 13, timeStamp: 1000 };

test("the Enter of an input method never sends, in any order of its events", () => {
  assert.equal(sends(key, -Infinity, false), true);
  assert.equal(sends({ ...key, isComposing: true }, -Infinity, false), false);
  assert.equal(sends({ ...key, keyCode: 229 }, -Infinity, false), false);
  assert.equal(sends(key, 990, false), false);
  assert.equal(sends(key, 500, false), true);
});

test("Shift and a screen keyboard make a line, Ctrl sends", () => {
  assert.equal(sends({ ...key, shiftKey: true }, -Infinity, false), false);
  assert.equal(sends(key, -Infinity, true), false);
  assert.equal(sends({ ...key, ctrlKey: true }, -Infinity, true), true);
  assert.equal(sends({ ...key, key: "a" }, -Infinity, false), false);
});

test("links lead to http, https and mailto; everything else stays text", () => {
  for (const given of ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x", "http:", "/chat/"]) {
    assert.equal(safeAddress(given), null, given);
  }
  const whole = "[x](javascript:alert(1)) <img src=x onerror=alert(1)>";
  assert.deepEqual(spansOf(whole), [{ kind: "text", text: whole }]);
  assert.deepEqual(spansOf("see https://example.com/a_(b)."), [
    { kind: "text", text: "see " },
    { kind: "link", text: "https://example.com/a_(b)", href: "https://example.com/a_(b)", host: "" },
    { kind: "text", text: "." },
  ]);
  assert.deepEqual(spansOf("(mailto:a@example.com)")[1], { kind: "link", text: "mailto:a@example.com", href: "mailto:a@example.com", host: "" });
});

test("words that lead elsewhere say where", () => {
  assert.deepEqual(spansOf("[bank.example](https://evil.example/x)"), [
    { kind: "link", text: "bank.example", href: "https://evil.example/x", host: "evil.example" },
  ]);
});

test("code is not read further, and lists are lists", () => {
  assert.deepEqual(blocksOf("a `[x](https://e.example)` b"), [
    { kind: "text", spans: [{ kind: "text", text: "a " }, { kind: "code", text: "[x](https://e.example)" }, { kind: "text", text: " b" }] },
  ]);
  assert.deepEqual(blocksOf("before\n```js\n- 1\n```\nafter").map(({ kind }) => kind), ["text", "code", "text"]);
  assert.deepEqual(blocksOf("```\nnever closed"), [{ kind: "code", text: "never closed" }]);
  const [list] = blocksOf("3. one\n4. two");
  assert.deepEqual(list.kind === "list" && [list.ordered, list.start, list.items.length], [true, 3, 2]);
  assert.deepEqual(blocksOf("- a\n1. b").map((block) => block.kind === "list" && block.ordered), [false, true]);
});

test("4,000 lines are one text, and hostile texts cost nothing", () => {
  assert.equal(blocksOf(`a${"\n".repeat(3998)}b`).length, 1);
  for (const text of ["[".repeat(4000), "`".repeat(4000), "[a](".repeat(1000), "\n".repeat(4000), "- ".repeat(2000), "https://".repeat(500)]) {
    const started = performance.now();
    blocksOf(text);
    assert.ok(performance.now() - started < 1000, text.slice(0, 8));
  }
});

test("a long text shows its beginning and never half an emoji", () => {
  assert.equal(folded("short\ntext"), null);
  const lines = folded(`a${"\n".repeat(3998)}b`);
  assert.deepEqual(lines, { shown: "a", lines: 3999, length: 4000 });
  const family = "👨‍👩‍👧‍👦";
  const part = folded("x".repeat(1197) + family.repeat(20));
  assert.ok(part && (part.shown === "x".repeat(1197) || part.shown.endsWith(family)));
  const marks = folded(`e${"\u0301".repeat(3999)}`);
  assert.ok(marks && marks.shown.length <= 1200 && marks.shown.length > 0);
});
