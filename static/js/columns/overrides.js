/* What a column sends in place of its version's own: model and parameters, `null` for one that is left out. Pure. */

/** @typedef {import("../spec.js").Spec} Spec */
/** @typedef {Record<string, any>} Overrides by name of the parameter */
/** @typedef {{version: number, model: string | null, parameters: Overrides}} Column as the API takes it */

export const LETTERS = ["A", "B", "C", "D"];
export const MIN_COLUMNS = 2;
export const MAX_COLUMNS = LETTERS.length;

/**
 * The spec that a column sends.
 * @param {Spec} spec of its version
 * @param {string | null} model
 * @param {Overrides} parameters
 * @returns {Spec}
 */
export function applied(spec, model, parameters) {
  const merged = { ...spec, ...parameters, ...(model ? { model } : {}) };
  return /** @type {Spec} */ (Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined)));
}

/**
 * What is really other than in the version: giving a parameter the value that it has changes nothing.
 * @param {Spec} spec
 * @param {string | null} model
 * @param {Overrides} parameters
 * @returns {{name: string, before: unknown, after: unknown}[]}
 */
export function changes(spec, model, parameters) {
  const given = { ...(model ? { model } : {}), ...parameters };
  return Object.entries(given).flatMap(([name, after]) => {
    const before = spec[name] ?? null;
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ name, before, after }];
  });
}

/**
 * A name for a column that says what it is: "v3", "v3 on claude-x", "v3, temperature 0".
 * @param {Column} column
 * @returns {string}
 */
export function columnName({ version, model, parameters }) {
  const set = Object.entries(parameters).map(([name, value]) => {
    const word = name.replaceAll("_", " ");
    if (value === null) return `no ${word}`;
    return typeof value === "number" ? `${word} ${value}` : `other ${word}`;
  });
  return [`v${version}${model ? ` on ${model}` : ""}`, ...set].join(", ");
}
