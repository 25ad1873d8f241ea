import assert from "node:assert/strict";
import { test } from "node:test";
import { rowWindow, scrollTopFor } from "../../static/js/row_window.js";
import { colourOf, drawingWidth, edgesOf, gridFor, linesInSight, pathOf } from "../../static/js/tree_lanes.js";
import { NO_TREE, TreeModel } from "../../static/js/tree_model.js";

/**
 * Columns as the server answers them.
 * @param {[number: number, parent: number, merged?: number, lane?: number][]} rows newest first
 * @param {Partial<import("../../static/js/tree_model.js").TreeAnswer>} [rest]
 */
function answer(rows, rest = {}) {
  return {
    ...NO_TREE,
    count: rows.length,
    lanes: Math.max(...rows.map(([, , , lane = 0]) => lane)) + 1,
    numbers: rows.map(([number]) => number),
    parents: rows.map(([, parent]) => parent),
    merged: rows.map(([, , merged = 0]) => merged),
    lane_of: rows.map(([, , , lane = 0]) => lane),
    people: ["Ada", null],
    authors: rows.map(() => 0),
    times: rows.map(([number]) => number),
    messages: rows.map(([number]) => `m${number}`),
    ...rest,
  };
}

/** @param {TreeModel} model @param {number} number */
const said = (model, number) => model.describe(/** @type {import("../../static/js/tree_model.js").Node} */ (model.node(number)));

/* 1 - 2 - 4 - 6 on main; 3 and 5 beside it; 6 merges 5. */
/** @type {Parameters<typeof answer>[0]} */
const FAMILY = [[6, 4, 5], [5, 3, 0, 1], [4, 2], [3, 1, 0, 1], [2, 1], [1, 0]];
const POINTERS = {
  branches: [
    { name: "idea", head: 5 },
    { name: "main", head: 6 },
  ],
  labels: [{ name: "production", version: 4 }],
};
const tree = new TreeModel(answer(FAMILY, POINTERS));

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
  assert.equal(new TreeModel(answer([[2, 1], [1, 0]], { branches: [{ name: "main", head: 1 }] })).branchOf(2), "");
});

test("what contains what is known, through merges too", () => {
  assert.ok(tree.isAncestor(3, 6));
  assert.ok(tree.isAncestor(6, 6));
  assert.ok(!tree.isAncestor(4, 5));
});

test("the drawing is said in words, lanes and merges included", () => {
  assert.equal(said(tree, 6), "head of main; lane 1 of 2; merges version 5 into version 4");
  assert.equal(said(tree, 4), "label production; lane 1 of 2; from version 2");
  assert.match(said(new TreeModel(answer([[1, 0]], { drafts: [1] })), 1), /unsaved text/);
  assert.match(said(tree, 1), /2 versions follow it/);
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

test("a version is read from its columns", () => {
  assert.deepEqual(tree.node(6), { number: 6, parents: [4, 5], lane: 0, author: "Ada", message: "m6", at: 6 });
  assert.equal(tree.node(7), undefined);
  assert.equal(new TreeModel(answer([[1, 0]], { authors: [1] })).node(1)?.author, null);
});

test("a part of the tree knows its rows, and that there are others", () => {
  const { columns } = tree;
  const part = new TreeModel({ ...answer(FAMILY.slice(2, 4), POINTERS), count: 6, first: 2, lanes: columns.lanes, lines: [[0, 7, 1, 1, false]] });
  assert.ok(tree.isWhole && !part.isWhole);
  assert.deepEqual([part.row(4), part.row(3), part.row(6)], [2, 3, -1]);
  assert.deepEqual([part.at(1), part.at(2)?.number, part.at(4)], [undefined, 4, undefined]);
  assert.equal(part.parent(3), 1);
  assert.equal(part.isAncestor(3, 6), false);
  assert.deepEqual(edgesOf(part), [{ from: 0, to: 7, fromLane: 1, toLane: 1, merges: false }]);
});

test("lines that pass by are drawn once a lane, however many there are", () => {
  const star = new TreeModel(answer([...Array.from({ length: 999 }, (_, index) => /** @type {[number, number, number, number]} */ ([1000 - index, 1, 0, index])), [1, 0]]));
  const edges = edgesOf(star);
  assert.equal(edges.length, 999);
  const paths = [...linesInSight(edges, { first: 900, last: 940 }, gridFor(star.lanes)).values()].map((line) => line.path).join("");
  assert.ok(paths.split("M").length < 100, `${paths.split("M").length} lines`);
});

test("ten thousand versions are edged and windowed quickly", () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => /** @type {[number, number, number, number]} */ ([10_000 - index, 9_999 - index, 0, index % 5]));
  const columns = answer(rows, { branches: [{ name: "main", head: 10_000 }] });
  const started = performance.now();
  const model = new TreeModel(columns);
  const edges = edgesOf(model);
  linesInSight(edges, { first: 5000, last: 5040 }, gridFor(5));
  assert.equal(model.branchOf(1), "main");
  assert.ok(performance.now() - started < 500);
});
