/* Line and area charts of the last minutes, as SVG. Colours come from the style sheet through `color`. */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 120;
const GAP_S = 5;

/** @typedef {{name: string, color: string, values: (number | null)[], area?: boolean, latest?: number}} Series `latest`: what to say where `values` are stacked */

/** @param {string} name @param {Record<string, string | number>} attributes */
function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** The next of 1, 2, 5 times a power of ten. @param {number} value */
export function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}

/**
 * @param {HTMLElement} figure
 * @param {{title: string, times: number[], span: number, series: Series[], format: (value: number) => string}} chart
 *   `times` in seconds, `span`: how many seconds the width stands for
 */
export function drawChart(figure, { title, times, span, series, format }) {
  const most = ceiling(Math.max(0, ...series.flatMap((one) => one.values.map((value) => value ?? 0))));
  const end = times.at(-1) ?? 0;
  const x = (/** @type {number} */ at) => WIDTH - ((end - at) / span) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - (value / most) * HEIGHT;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  svg.setAttribute("aria-label", `${title}: ${series.map((one) => `${one.name} ${say(one.latest ?? one.values.at(-1), format)}`).join(", ")}`);
  for (const share of [0, 0.5, 1]) svg.append(shape("line", { class: "grid-line", x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share }));
  for (const one of series) {
    const path = /** @type {SVGPathElement} */ (shape("path", { class: one.area ? "area" : "line", d: one.area ? area(times, one.values, x, y) : line(times, one.values, x, y) }));
    path.style.setProperty(one.area ? "fill" : "stroke", `var(${one.color})`);
    svg.append(path);
  }
  const caption = document.createElement("figcaption");
  caption.append(title, legend(series, format), note(`${format(most)} at the top, 5 minutes`));
  figure.replaceChildren(caption, svg);
}

/** @param {number | null | undefined} value @param {(value: number) => string} format */
function say(value, format) {
  return value === null || value === undefined ? "none" : format(value);
}

/** @param {string} text */
function note(text) {
  const element = document.createElement("span");
  element.textContent = text;
  return element;
}

/** @param {Series[]} series @param {(value: number) => string} format */
function legend(series, format) {
  const box = document.createElement("span");
  for (const one of series) {
    const entry = document.createElement("span");
    entry.className = "legend";
    const mark = document.createElement("i");
    mark.style.background = `var(${one.color})`;
    entry.append(mark, ` ${one.name} ${say(one.latest ?? one.values.at(-1), format)}`);
    box.append(entry);
  }
  return box;
}

/**
 * A hole where there was no value or no sample.
 * @param {number[]} times @param {(number | null)[]} values
 * @param {(at: number) => number} x @param {(value: number) => number} y
 */
function line(times, values, x, y) {
  let path = "";
  let last = -Infinity;
  values.forEach((value, index) => {
    const at = times[index] ?? 0;
    if (value === null) return;
    path += `${at - last > GAP_S ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    last = at;
  });
  return path;
}

/**
 * @param {number[]} times @param {(number | null)[]} values
 * @param {(at: number) => number} x @param {(value: number) => number} y
 */
function area(times, values, x, y) {
  if (times.length === 0) return "";
  const top = times.map((at, index) => `${x(at).toFixed(1)} ${y(values[index] ?? 0).toFixed(1)}`).join("L");
  return `M${x(times[0] ?? 0).toFixed(1)} ${HEIGHT}L${top}L${x(times.at(-1) ?? 0).toFixed(1)} ${HEIGHT}Z`;
}
