import assert from "node:assert/strict";
import { test } from "node:test";
import { rowWindow, scrollTopFor } from "../../static/js/row_window.js";
import { colourOf, drawingWidth, edgesOf, gridFor, linesInSight, pathOf } from "../../static/js/tree_lanes.js";
import { TreeModel } from "../../static/js/tree_model.js";

/** @param {number} number @param {number[]} parents @param {number} [lane] */
const node = (number, parents, lane = 0) => ({ number, id: `id-${number}`, parents, lane, author: "Ada", message: `m${number}`, created_at: "2026-01-01T00:00:00Z" });

/* 1 - 2 - 4 - 6 on main; 3 and 5 beside it; 6 merges 5. */
const tree = new TreeModel({
  nodes: [node(6, [4, 5]), node(5, [3], 1), node(4, [2]), node(3, [1], 1), node(2, [1]), node(1, [])],
  branches: [
    { name: "idea", head: 5 },
    { name: "main", head: 6 },
  ],
  labels: [{ name: "production", version: 4 }],
});

test("only rows in sight, and some spare, are in the document", () => {
  assert.deepEqual(rowWindow({ top: 0, height: 280, row: 28, count: 2000 }), { first: 0, last: 16 });
  assert.deepEqual(rowWindow({ top: 28_000, height: 280, row: 28, count: 2000 }), { first: 994, last: 1016 });
  assert.deepEqual(rowWindow({ top: 1e9, height: 280, row: 28, count: 20 }), { first: 20, last: 20 });
  assert.deepEqual(rowWindow({ top: 0, height: 0, row: 28, count: 0 }), { first: 0, last: 0 });
});

test("scrolling moves no further than it must", () => {
  const view = { top: 280, height: 280, row: 28 };
  assert.equal(scrollTopFor(12, view), 280);
  assert.equal(scrollTopFor(5, view), 140);
  assert.equal(scrollTopFor(25, view), 448);
});

test("the tree is walked to parent, child and sibling", () => {
  assert.equal(tree.parent(6), 4);
  assert.equal(tree.parent(1), undefined);
  assert.equal(tree.child(1), 2);
  assert.equal(tree.child(6), undefined);
  assert.equal(tree.sibling(2, 1), 3);
  assert.equal(tree.sibling(3, -1), 2);
  assert.equal(tree.sibling(3, 1), undefined);
  assert.equal(tree.sibling(1, 1), undefined);
});

test("every version is on a branch: its own, main, or the first that leads there", () => {
  assert.equal(tree.branchOf(6), "main");
  assert.equal(tree.branchOf(5), "idea");
  assert.equal(tree.branchOf(2), "main");
  assert.deepEqual(tree.headsAt(5), ["idea"]);
  assert.equal(new TreeModel({ nodes: [node(2, [1]), node(1, [])], branches: [{ name: "main", head: 1 }], labels: [] }).branchOf(2), "");
});

test("what contains what is known, through merges too", () => {
  assert.ok(tree.isAncestor(3, 6));
  assert.ok(tree.isAncestor(6, 6));
  assert.ok(!tree.isAncestor(4, 5));
});

test("the drawing is said in words, lanes and merges included", () => {
  assert.equal(tree.describe(tree.nodes[0]), "head of main; lane 1 of 2; merges version 5 into version 4");
  assert.equal(tree.describe(tree.nodes[2]), "label production; lane 1 of 2; from version 2");
  assert.match(new TreeModel({ nodes: [node(1, [])], branches: [], labels: [], drafts: [1] }).describe(node(1, [])), /unsaved text/);
  assert.match(tree.describe(tree.nodes[5]), /2 versions follow it/);
});

test("lines go from child to parent, in few paths", () => {
  const edges = edgesOf(tree);
  const grid = gridFor(tree.lanes);
  assert.equal(edges.length, 6);
  assert.equal(pathOf(edges[0], grid), "M12 14V70");
  assert.equal(pathOf(edges[1], grid), "M12 14C12 28 24 28 24 42V42");
  assert.deepEqual([...linesInSight(edges, { first: 0, last: 6 }, grid).keys()], ["0", "1m", "1"]);
  assert.deepEqual([...linesInSight(edges, { first: 4, last: 6 }, grid).keys()], ["0", "1"]);
});

test("many lanes stay narrow, and colours repeat", () => {
  const grid = gridFor(60);
  assert.ok(drawingWidth(60, grid) <= 110);
  assert.equal(colourOf(9), 1);
});

test("ten thousand versions are edged and windowed quickly", () => {
  const nodes = Array.from({ length: 10_000 }, (_, index) => node(10_000 - index, index === 9_999 ? [] : [9_999 - index], index % 5));
  const started = performance.now();
  const model = new TreeModel({ nodes, branches: [{ name: "main", head: 10_000 }], labels: [] });
  const edges = edgesOf(model);
  linesInSight(edges, { first: 5000, last: 5040 }, gridFor(5));
  assert.equal(model.branchOf(1), "main");
  assert.ok(performance.now() - started < 500);
});
