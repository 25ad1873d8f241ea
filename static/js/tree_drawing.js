/* The lines and dots of the tree, in one SVG. Merges are dashed lines to a square, heads are rings: never colour alone. */
import { colourOf, linesInSight, xOf, yOf } from "./tree_lanes.js";

const SPACE = "http://www.w3.org/2000/svg";
const DOT = 3.5;

/** @typedef {import("./tree_lanes.js").Grid} Grid */
/** @typedef {import("./tree_lanes.js").Edge} Edge */

/** @param {string} name @param {string} path */
function shape(name, path) {
  const element = document.createElementNS(SPACE, "path");
  element.setAttribute("class", name);
  element.setAttribute("d", path);
  return element;
}

/** @param {number} x @param {number} y @param {number} radius */
function circle(x, y, radius) {
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
}

/** @param {number} x @param {number} y @param {number} half */
function square(x, y, half) {
  return `M${x - half} ${y}l${half} ${-half}l${half} ${half}l${-half} ${half}z`;
}

/**
 * @param {SVGSVGElement} svg
 * @param {{model: import("./tree_model.js").TreeModel, edges: Edge[], grid: Grid, current: number}} tree
 * @param {{first: number, last: number}} sight
 */
export function draw(svg, { model, edges, grid, current }, sight) {
  const lines = [...linesInSight(edges, sight, grid).values()];
  const dots = new Map();
  for (let row = sight.first; row < sight.last; row += 1) {
    const node = model.at(row);
    if (!node) continue;
    const kind = node.parents.length > 1 ? "is-merge" : model.headsAt(node.number).length > 0 ? "is-head" : "is-plain";
    const key = `tree-dot lane-${colourOf(node.lane)} ${kind}`;
    const [x, y] = [xOf(node.lane, grid), yOf(row, grid)];
    dots.set(key, (dots.get(key) ?? "") + (kind === "is-merge" ? square(x, y, DOT + 1) : circle(x, y, DOT)));
  }
  const open = model.node(current);
  const row = model.row(current);
  const ring = open && row >= sight.first && row < sight.last ? [shape("tree-ring", circle(xOf(open.lane, grid), yOf(row, grid), 2 * DOT))] : [];
  svg.replaceChildren(
    ...lines.map((line) => shape(`tree-line lane-${line.colour}${line.merges ? " is-merge" : ""}`, line.path)),
    ...ring,
    ...[...dots].map(([name, path]) => shape(name, path)),
  );
}
