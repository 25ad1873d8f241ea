/* The kinds of check of a batch: what each asks for, in words, and what is wrong with one before it is sent. Pure. */

/** @typedef {{kind: string, name?: string} & Record<string, any>} Check */
/**
 * @typedef {{key: string, label: string, type: "text" | "long" | "share" | "flag" | "choice", placeholder?: string, help?: string,
 *   optional?: boolean, choices?: [string, string][]}} Field
 */
/** @typedef {{kind: string, label: string, about: string, fields: Field[], start: Record<string, any>}} Kind */

const EXPECTED = "{{expected}}";
const FILLED = "{{expected}} and the variables of the row are filled in.";
/** @type {Field} */
const CASE = { key: "ignore_case", label: "Upper and lower case are the same", type: "flag" };

/** @type {Kind[]} */
export const KINDS = [
  {
    kind: "contains",
    label: "contains …",
    about: "The answer has this text in it.",
    fields: [{ key: "text", label: "Text", type: "text", placeholder: EXPECTED, help: FILLED }, CASE],
    start: { text: EXPECTED },
  },
  {
    kind: "not_contains",
    label: "does not contain …",
    about: "The answer nowhere has this text.",
    fields: [{ key: "text", label: "Text", type: "text", placeholder: "As an AI", help: FILLED }, CASE],
    start: { text: "" },
  },
  {
    kind: "equals",
    label: "equals …",
    about: "The answer is this text and nothing else.",
    fields: [
      { key: "text", label: "Text", type: "text", placeholder: EXPECTED, help: FILLED },
      { key: "mode", label: "Blanks around it", type: "choice", choices: [["trimmed", "do not count"], ["exact", "count: byte for byte"]] },
    ],
    start: { text: EXPECTED, mode: "trimmed" },
  },
  {
    kind: "regex",
    label: "matches a pattern …",
    about: "A regular expression is found somewhere in the answer.",
    fields: [
      { key: "pattern", label: "Pattern", type: "text", placeholder: "^(yes|no)\\b" },
      CASE,
      { key: "negate", label: "Pass if it is not found", type: "flag" },
    ],
    start: { pattern: "" },
  },
  { kind: "json", label: "is valid JSON", about: "The whole answer is one JSON value.", fields: [], start: {} },
  {
    kind: "json_schema",
    label: "fits a JSON schema …",
    about: "The answer is JSON and fits the schema.",
    fields: [{ key: "schema", label: "Schema", type: "long", optional: true, placeholder: '{"type": "object", "required": ["answer"]}', help: "Left empty: the output schema of the version." }],
    start: { schema: "" },
  },
  {
    kind: "similarity",
    label: "similar to …",
    about: "The answer is close to this text.",
    fields: [
      { key: "text", label: "Text", type: "text", placeholder: EXPECTED, help: FILLED },
      { key: "threshold", label: "At least", type: "share", help: "From 0 to 1; 1 is the same text." },
      { key: "method", label: "Compared by", type: "choice", choices: [["ratio", "letters"], ["embedding", "meaning"]] },
    ],
    start: { text: EXPECTED, threshold: 0.9, method: "ratio" },
  },
  {
    kind: "model",
    label: "a model says yes to …",
    about: "A model reads the answer and says yes or no. Each is a run of its own.",
    fields: [
      { key: "question", label: "Question", type: "long", placeholder: "Is the answer polite, and does it say the same as {{expected}}?", help: FILLED },
      { key: "model", label: "Model that judges", type: "text", optional: true, placeholder: "the one that answered" },
    ],
    start: { question: "" },
  },
];

/** @param {string} kind */
export function kindOf(kind) {
  const found = KINDS.find((each) => each.kind === kind);
  if (!found) throw new Error(`There is no check of kind ${kind}`);
  return found;
}

/** @param {string} kind @returns {Check} */
export function newCheck(kind) {
  return { kind, ...kindOf(kind).start };
}

/** @param {string} text */
function quoted(text) {
  if (text === EXPECTED) return "the expected text";
  return text === "" ? "…" : `“${text.length > 40 ? `${text.slice(0, 39)}…` : text}”`;
}

/** @type {Record<string, (check: Check) => string>} */
const WORDS = {
  contains: (check) => `contains ${quoted(check.text)}`,
  not_contains: (check) => `does not contain ${quoted(check.text)}`,
  equals: (check) => `equals ${quoted(check.text ?? EXPECTED)}${check.mode === "exact" ? ", blanks included" : ""}`,
  regex: (check) => `${check.negate ? "does not match" : "matches"} ${quoted(check.pattern)}`,
  json: () => "is valid JSON",
  json_schema: (check) => (check.schema ? "fits the schema given" : "fits the output schema of the version"),
  similarity: (check) => `${check.method === "embedding" ? "means" : "reads"} like ${quoted(check.text ?? EXPECTED)}, at least ${check.threshold}`,
  model: (check) => `a model says yes to ${quoted(check.question)}`,
};

/** @param {Check} check @returns {string} "contains “yes”" */
export function checkWords(check) {
  return WORDS[check.kind](check);
}

/**
 * What keeps a check from being sent.
 * @param {Check} check
 * @returns {string} "" for nothing
 */
export function problemOf(check) {
  for (const { key, label, type, optional } of kindOf(check.kind).fields) {
    const value = check[key];
    if (["text", "long"].includes(type) && !optional && !value) return `${label} is missing.`;
    if (type === "share" && !(typeof value === "number" && value >= 0 && value <= 1)) return `${label} is a number from 0 to 1.`;
  }
  if (check.kind === "json_schema" && check.schema) return schemaProblem(check.schema);
  return "";
}

/** @param {string} schema */
function schemaProblem(schema) {
  try {
    const value = JSON.parse(schema);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? "" : "A schema is a JSON object.";
  } catch (error) {
    return `The schema is no JSON: ${/** @type {Error} */ (error).message}`;
  }
}

/**
 * A check of an earlier batch, as a form takes it: what is null is left out, a schema is text.
 * @param {Check} check
 * @returns {Check}
 */
export function loadedCheck(check) {
  const given = Object.entries(check).filter(([, value]) => value !== null && value !== undefined);
  const texts = given.map(([key, value]) => [key, key === "schema" && typeof value !== "string" ? JSON.stringify(value) : value]);
  return { ...newCheck(check.kind), ...Object.fromEntries(texts) };
}

/**
 * A check as the server takes it: what was left empty is left out.
 * @param {Check} check
 * @returns {Check}
 */
export function sentCheck(check) {
  const { kind, name } = check;
  const fields = kindOf(kind).fields.map(({ key }) => [key, check[key]]).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return { kind, ...(name ? { name } : {}), ...Object.fromEntries(fields) };
}

/** Whether a check looks at the expected text of the row. @param {Check} check */
export function needsExpected(check) {
  return ["text", "question"].some((key) => /\{\{\s*expected\s*\}\}/.test(check[key] ?? "")) || (["equals", "similarity"].includes(check.kind) && !check.text);
}
