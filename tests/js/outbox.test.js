import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Outbox } from "../../static/js/chat/outbox.js";

/** @typedef {import("../../static/js/chat/outbox.js").Waiting} Waiting */

/** A store as the browser has one, in memory. */
class Memory {
  constructor() {
    /** @type {Map<string, Waiting>} */
    this.kept = new Map();
  }

  async all() {
    return [...this.kept.values()].map((entry) => ({ ...entry }));
  }

  async put(/** @type {Waiting} */ entry) {
    this.kept.set(entry.id, { ...entry });
  }

  async remove(/** @type {string} */ id) {
    this.kept.delete(id);
  }
}

function make(store = new Memory()) {
  /** @type {string[]} */
  const sent = [];
  /** @type {string[]} */
  const gone = [];
  const outbox = new Outbox(store, {
    send: ({ id }) => {
      assert.ok(store.kept.has(id), "kept before it is sent");
      sent.push(id);
    },
    onChange: ({ id }, left) => left && gone.push(id),
  });
  return { outbox, sent, gone, store };
}

const say = (/** @type {Outbox} */ outbox, /** @type {string} */ id, conversation = "a") => outbox.add({ id, conversation, body: id });

test("one message is under way in a conversation, in the order of submitting", async () => {
  const { outbox, sent, gone, store } = make();
  outbox.start();
  await Promise.all([say(outbox, "1"), say(outbox, "2"), say(outbox, "3"), say(outbox, "x", "b")]);
  assert.deepEqual(sent, ["1", "x"]);
  await outbox.sent("1");
  assert.deepEqual(sent, ["1", "x", "2"]);
  await outbox.sent("2");
  await outbox.sent("3");
  await outbox.sent("x");
  assert.deepEqual(gone, ["1", "2", "3", "x"]);
  assert.equal(store.kept.size, 0);
  outbox.stop();
});

test("nothing goes while there is no connection, everything afterwards, with the same id", async () => {
  const { outbox, sent } = make();
  await say(outbox, "1");
  await say(outbox, "2");
  assert.deepEqual(sent, []);
  outbox.start();
  outbox.stop();
  outbox.start();
  assert.deepEqual(sent, ["1", "1"]);
  outbox.stop();
});

test("another page goes on where the last one ended", async () => {
  const first = make();
  await say(first.outbox, "1");
  await say(first.outbox, "2");
  const second = make(first.store);
  await second.outbox.load();
  second.outbox.start();
  await second.outbox.sent("1");
  assert.deepEqual(second.sent, ["1", "2"]);
  second.outbox.stop();
});

test("what another tab left is told once, and what is here already is not told again", async () => {
  const first = make();
  await say(first.outbox, "1");
  const shown = /** @type {string[]} */ ([]);
  const outbox = new Outbox(first.store, { send: () => {}, onChange: ({ id }) => shown.push(id) });
  await outbox.load();
  await say(first.outbox, "2");
  await outbox.load();
  assert.deepEqual(shown, ["1", "2"]);
});

test("an answer that does not come is asked for again with the same id", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { outbox, sent } = make();
  outbox.start();
  await say(outbox, "1");
  context.mock.timers.tick(10_000);
  assert.deepEqual(sent, ["1", "1"]);
  outbox.stop();
  context.mock.timers.tick(60_000);
  assert.deepEqual(sent, ["1", "1"]);
  mock.timers.reset();
});

test("a refusal for good waits for a person and keeps nobody else waiting", async () => {
  const { outbox, sent, store } = make();
  outbox.start();
  await say(outbox, "1");
  await say(outbox, "2");
  await outbox.failed("1", { message: "Too long.", permanent: true });
  assert.deepEqual(sent, ["1", "2"]);
  assert.equal(store.kept.get("1")?.problem, "Too long.");
  await outbox.sent("2");
  await outbox.retry("1");
  assert.deepEqual(sent, ["1", "2", "1"]);
  await outbox.discard("1");
  assert.equal(store.kept.size, 0);
  outbox.stop();
});

test("a refusal for the moment is tried again, and who is behind keeps the order", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { outbox, sent } = make();
  outbox.start();
  await say(outbox, "1");
  await say(outbox, "2");
  await outbox.failed("1", { message: "Too many.", permanent: false, retryAfterS: 3 });
  context.mock.timers.tick(2999);
  assert.deepEqual(sent, ["1"]);
  context.mock.timers.tick(1);
  assert.deepEqual(sent, ["1", "1"]);
  outbox.stop();
  mock.timers.reset();
});
