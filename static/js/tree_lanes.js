/* The lines between versions: which there are, and the SVG path of those in sight. Plain data, no document. */

/** @typedef {{from: number, to: number, fromLane: number, toLane: number, merges: boolean}} Edge rows and lanes of child and parent */
/** @typedef {{row: number, lane: number, most: number}} Grid px a row, px a lane, lanes drawn apart */

const COLOURS = 8;
const COMFORTABLE = 12;
const TIGHT = 7;
const WIDTH = 84;

/**
 * How wide a lane is, and how many are drawn apart: beyond that they share the last one.
 * @param {number} lanes
 * @param {number} [row]
 * @returns {Grid}
 */
export function gridFor(lanes, row = 28) {
  const lane = Math.max(TIGHT, Math.min(COMFORTABLE, Math.floor(WIDTH / Math.max(1, lanes))));
  return { row, lane, most: Math.floor(WIDTH / lane) };
}

/** @param {number} lanes @param {Grid} grid */
export function drawingWidth(lanes, grid) {
  return (Math.min(lanes, grid.most) + 1) * grid.lane;
}

/** @param {number} lane @returns {number} which of the colours */
export function colourOf(lane) {
  return lane % COLOURS;
}

/**
 * The edges of all versions; of a part of the tree those that the server says cross it.
 * @param {import("./tree_model.js").TreeModel} model
 * @returns {Edge[]}
 */
export function edgesOf({ columns, lines, rows }) {
  if (lines) return lines.map(([from, to, fromLane, toLane, merges]) => ({ from, to, fromLane, toLane, merges }));
  const { parents, merged, lane_of } = columns;
  /** @type {Edge[]} */
  const edges = [];
  for (let from = 0; from < parents.length; from += 1) {
    for (const parent of merged[from] ? [parents[from], merged[from]] : [parents[from]]) {
      const to = rows.get(parent);
      if (to !== undefined) edges.push({ from, to, fromLane: lane_of[from], toLane: lane_of[to], merges: parent === merged[from] });
    }
  }
  return edges;
}

/** @param {number} lane @param {Grid} grid */
export function xOf(lane, grid) {
  return (Math.min(lane, grid.most - 1) + 1) * grid.lane;
}

/** @param {number} row @param {Grid} grid */
export function yOf(row, grid) {
  return (row + 0.5) * grid.row;
}

/** The lane in whose colour an edge is drawn. @param {Edge} edge */
export function laneOf(edge) {
  return edge.merges ? edge.toLane : edge.fromLane;
}

/**
 * A branch leaves its parent's lane beside the parent; a merge enters its lane beside the child.
 * @param {Edge} edge
 * @param {Grid} grid
 * @returns {string}
 */
export function pathOf(edge, grid) {
  const [x1, y1, x2, y2] = [xOf(edge.fromLane, grid), yOf(edge.from, grid), xOf(edge.toLane, grid), yOf(edge.to, grid)];
  if (x1 === x2) return `M${x1} ${y1}V${y2}`;
  const bend = grid.row * 0.5;
  if (edge.merges) return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y1 + bend} ${x2} ${y1 + grid.row}V${y2}`;
  return `M${x1} ${y1}V${y2 - grid.row}C${x1} ${y2 - bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

/**
 * The lines that touch rows [first, last), joined into one path a colour and kind, so that few elements are needed. Lines
 * that only pass through are drawn once a lane: thousands may, where everything started from one version.
 * @param {Edge[]} edges
 * @param {{first: number, last: number}} window
 * @param {Grid} grid
 * @returns {Map<string, {colour: number, merges: boolean, path: string}>}
 */
export function linesInSight(edges, { first, last }, grid) {
  /** @type {Map<string, {colour: number, merges: boolean, path: string}>} */
  const lines = new Map();
  const passed = new Set();
  for (const edge of edges) {
    if (edge.from >= last || edge.to < first) continue;
    const colour = colourOf(laneOf(edge));
    const key = `${colour}${edge.merges ? "m" : ""}`;
    if (edge.from < first - 1 && edge.to > last) {
      const place = `${key} ${xOf(laneOf(edge), grid)}`;
      if (passed.has(place)) continue;
      passed.add(place);
    }
    const line = lines.get(key) ?? { colour, merges: edge.merges, path: "" };
    line.path += pathOf(edge, grid);
    lines.set(key, line);
  }
  return lines;
}
