/* Which column of a file fills which variable. Pure. */

/** What a column becomes. */
export const LEFT_OUT = "\0out";
export const AS_EXPECTED = "\0expected";

/** @typedef {{name: string, default?: string | null}} Variable */
/** @typedef {Map<string, string>} Mapping by column of the file: a variable's name, LEFT_OUT or AS_EXPECTED */

const EXPECTED_NAMES = ["expected", "expected_output", "expected output", "ideal", "reference"];

/** @param {string} name */
const alike = (name) => name.normalize("NFC").toLowerCase().replace(/[\s_-]+/g, "");

/**
 * What the names suggest: the same name first, then one that differs in case or blanks; each variable once.
 * @param {string[]} columns
 * @param {Variable[]} variables
 * @returns {Mapping}
 */
export function proposedMapping(columns, variables) {
  /** @type {Mapping} */
  const mapping = new Map(columns.map((column) => [column, LEFT_OUT]));
  const free = new Set(variables.map(({ name }) => name));
  const take = (/** @type {(column: string, name: string) => boolean} */ fits) => {
    for (const column of columns) {
      const name = mapping.get(column) === LEFT_OUT ? [...free].find((each) => fits(column, each)) : undefined;
      if (name === undefined) continue;
      mapping.set(column, name);
      free.delete(name);
    }
  };
  take((column, name) => column.normalize("NFC") === name);
  take((column, name) => alike(column) === alike(name));
  const expected = columns.find((column) => mapping.get(column) === LEFT_OUT && EXPECTED_NAMES.includes(column.trim().toLowerCase()));
  if (expected !== undefined) mapping.set(expected, AS_EXPECTED);
  return mapping;
}

/**
 * Another target for a column; the column that had it is left out.
 * @param {Mapping} mapping
 * @param {string} column
 * @param {string} target
 * @returns {Mapping}
 */
export function remapped(mapping, column, target) {
  const entries = [...mapping].map(([each, had]) => /** @type {[string, string]} */ ([each, each === column ? target : had === target && target !== LEFT_OUT ? LEFT_OUT : had]));
  return new Map(entries);
}

/**
 * What is to be known before the file is sent.
 * @param {Mapping} mapping
 * @param {Variable[]} variables
 * @returns {{tone: "bad" | "warn" | "plain", text: string}[]}
 */
export function mappingNotes(mapping, variables) {
  const filled = new Set(mapping.values());
  /** @type {{tone: "bad" | "warn" | "plain", text: string}[]} */
  const notes = variables
    .filter(({ name }) => !filled.has(name))
    .map(({ name, default: fallback }) =>
      fallback === undefined || fallback === null
        ? { tone: "warn", text: `No column fills {{${name}}}, and it has no default: it stays without a value in every row.` }
        : { tone: "plain", text: `No column fills {{${name}}}: its default is used.` },
    );
  const left = [...mapping].filter(([, target]) => target === LEFT_OUT).map(([column]) => column);
  if (left.length > 0) notes.push({ tone: "plain", text: `Left out: ${left.join(", ")}.` });
  if (left.length === mapping.size) notes.unshift({ tone: "bad", text: "Every column is left out. Choose what at least one of them fills." });
  return notes;
}

/**
 * The mapping as the server takes it.
 * @param {Mapping} mapping
 * @returns {{columns: Record<string, string | null>, expected: string | null}}
 */
export function sentMapping(mapping) {
  const expected = [...mapping].find(([, target]) => target === AS_EXPECTED)?.[0] ?? null;
  const columns = [...mapping].filter(([, target]) => target !== AS_EXPECTED).map(([column, target]) => [column, target === LEFT_OUT ? null : target]);
  return { columns: Object.fromEntries(columns), expected };
}
