/* The fields that differ, each with both values. */
import { fieldName, valueText } from "./diff_words.js";
import { el } from "./dom.js";

/** @typedef {{name: string, before: unknown, after: unknown}} FieldChange */

/** @param {"before" | "after"} side @param {unknown} value */
function cell(side, value) {
  const absent = value === null || value === undefined;
  const text = valueText(value);
  if (absent) return el("td", { class: "faint" }, text);
  return el("td", {}, el(side === "before" ? "del" : "ins", { class: "diff-value", dir: "auto" }, text));
}

/** @param {FieldChange[]} fields */
export function fieldTable(fields) {
  const rows = fields.map(({ name, before, after }) =>
    el("tr", { "data-change": true, "data-field": name }, el("th", { scope: "row" }, fieldName(name)), cell("before", before), cell("after", after)),
  );
  const heads = ["Parameter", "Before", "After"].map((word) => el("th", { scope: "col" }, word));
  return el("table", { class: "table diff-fields" }, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
}
