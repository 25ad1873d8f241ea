/* The JSON tab: a structured answer as a tree, and how it keeps to its schema. */
import { el, icon, one } from "./dom.js";
import { JsonTree } from "./json_tree.js";
import { readJson } from "./json_values.js";

/** @typedef {import("./run_stream.js").RunState} RunState */
/** @typedef {import("./run_stream.js").Structured} Structured */

/** What stands around a place, on each side. */
const AROUND = 60;
const TONES = /** @type {Record<string, [string, string]>} */ ({ true: ["good", "circle-check"], false: ["bad", "circle-alert"], null: ["warn", "triangle-alert"] });

/** @param {Structured} found */
export function verdictWords({ valid, errors, place }) {
  if (valid) return "Follows its schema.";
  if (valid === null) return errors[0]?.message ?? "Not checked against its schema.";
  if (place) return "Not JSON, so it does not follow its schema.";
  if (errors.length === 1) return "Does not follow its schema in one place.";
  return `Does not follow its schema in ${errors.length === 50 ? "50 places or more" : `${errors.length} places`}.`;
}

/**
 * The text around a place in three parts: before it, the character at it, after it. Null for a place that is not there.
 * @param {string} text
 * @param {{line: number, column: number}} place from 1, columns in code points
 * @returns {[string, string, string] | null}
 */
export function around(text, { line, column }) {
  const whole = text.split("\n")[line - 1];
  if (whole === undefined) return null;
  const points = [...whole];
  const before = points.slice(Math.max(0, column - 1 - AROUND), column - 1).join("");
  const after = points.slice(column, column + AROUND).join("");
  return [column - 1 > AROUND ? `…${before}` : before, points[column - 1] ?? "", points.length > column + AROUND ? `${after}…` : after];
}

export class StructuredView {
  /** @param {HTMLElement} root the panel */
  constructor(root) {
    this.verdict = one("[data-json-verdict]", root, HTMLElement);
    this.problems = one("[data-json-problems]", root, HTMLElement);
    this.place = one("[data-json-place]", root, HTMLElement);
    this.tree = one("[data-json-tree]", root, HTMLElement);
    /** What is drawn, and whether there was anything to draw. @type {{run: RunState, text: string, found: Structured | null, isThere: boolean} | null} */
    this.drawn = null;
  }

  /**
   * @param {RunState} run that has ended
   * @returns {boolean} whether there is anything to show
   */
  show(run) {
    const { text, structured: found } = run;
    // Drawn once: what somebody opened in the tree stays open.
    if (this.drawn?.run === run && this.drawn.text === text && this.drawn.found === found) return this.drawn.isThere;
    this.drawn = { run, text, found, isThere: this.#draw(run, found) };
    return this.drawn.isThere;
  }

  /** @param {RunState} run @param {Structured | null} found */
  #draw(run, found) {
    const json = found || /^\s*[[{]/.test(run.text) ? readJson(run.text) : null;
    this.#showVerdict(found);
    this.#showPlace(found?.place ? around(run.text, found.place) : null);
    const remarks = new Map();
    for (const { path, message } of found?.errors ?? []) remarks.set(path, [...(remarks.get(path) ?? []), message]);
    const drawn = json ? new JsonTree(json.value, found?.valid === false ? remarks : new Map()) : null;
    this.tree.replaceChildren(...(drawn ? [drawn.element] : []));
    this.#showProblems(found, drawn);
    return found !== null || json !== null;
  }

  /** @param {Structured | null} found */
  #showVerdict(found) {
    this.verdict.hidden = !found;
    if (!found) return;
    const [tone, name] = TONES[String(found.valid)];
    this.verdict.className = `json-verdict is-${tone}`;
    this.verdict.replaceChildren(icon(name), verdictWords(found));
  }

  /** @param {[string, string, string] | null} parts */
  #showPlace(parts) {
    this.place.hidden = !parts;
    if (parts) this.place.replaceChildren(parts[0], el("mark", {}, parts[1] || "(the end)"), parts[2]);
  }

  /** @param {Structured | null} found @param {JsonTree | null} tree */
  #showProblems(found, tree) {
    const errors = found?.valid === false ? found.errors : [];
    this.problems.hidden = errors.length === 0;
    this.problems.replaceChildren(...errors.map(({ path, message }) => this.#problem(path, message, tree)));
  }

  /** @param {string} path @param {string} message @param {JsonTree | null} tree */
  #problem(path, message, tree) {
    const where = el("code", { dir: "ltr" }, path || "the whole answer");
    if (!tree) return el("li", {}, message);
    const button = el("button", { class: "link-button", type: "button" }, where);
    button.addEventListener("click", () => {
      const value = tree.reveal(path);
      const target = value?.querySelector("summary") ?? value;
      target?.scrollIntoView({ block: "nearest" });
      target?.focus();
    });
    return el("li", {}, button, ` ${message}`);
  }
}
