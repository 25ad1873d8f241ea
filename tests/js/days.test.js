import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "Pacific/Auckland";
const { days, moments } = await import("../../static/js/runs/days.js");

test("a day is that of the viewer, from its first moment to the first of the next", () => {
  assert.deepEqual(moments("2026-11-30", "2026-11-30"), ["2026-11-29T11:00:00.000Z", "2026-11-30T11:00:00.000Z"]);
});

test("moments lead back to the days that were chosen", () => {
  for (const [first, last] of [["2026-11-30", "2026-12-01"], ["2026-04-05", "2026-04-05"], ["2026-09-27", "2026-09-27"]]) {
    assert.deepEqual(days(...moments(first, last)), [first, last]);
  }
});

test("no day is no moment, and nonsense is none", () => {
  assert.deepEqual(moments("", "30.11.2026"), ["", ""]);
  assert.deepEqual(days("", "yesterday"), ["", ""]);
});
