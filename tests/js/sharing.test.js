/* When something ends, in the time of whoever looks. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { exactWords, instantOf } from "../../static/js/sharing/expiry.js";

const NOW = Date.parse("2026-03-01T12:00:00Z");

test("an end that is chosen in local time is kept as an instant", () => {
  for (const [zone, written, instant] of [
    ["Asia/Tokyo", "2026-03-02T08:30", "2026-03-01T23:30:00.000Z"],
    ["America/Chicago", "2026-03-01T23:30", "2026-03-02T05:30:00.000Z"],
    ["Europe/Berlin", "2026-07-01T00:00", "2026-06-30T22:00:00.000Z"],
    ["Asia/Kathmandu", "2026-03-02T05:45", "2026-03-02T00:00:00.000Z"],
  ]) {
    process.env.TZ = zone;
    assert.equal(instantOf("at", written, NOW), instant, zone);
  }
  process.env.TZ = "UTC";
});

test("days are counted from now, never from midnight", () => {
  assert.equal(instantOf("1", "", NOW), "2026-03-02T12:00:00.000Z");
  assert.equal(instantOf("30", "", NOW), "2026-03-31T12:00:00.000Z");
});

test("never, no change, and a time that is not written yet are told apart", () => {
  assert.equal(instantOf("", "", NOW), null);
  assert.equal(instantOf("keep", "", NOW), undefined);
  assert.equal(instantOf("at", "", NOW), "");
});

test("an end is said with its time zone", () => {
  assert.match(exactWords(new Date(NOW)), /2026.*(UTC|GMT|[A-Z]{2,5})/);
});
