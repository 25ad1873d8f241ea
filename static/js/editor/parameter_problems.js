/* What is wrong with parameters as they stand in the page: told at once, before any server is asked. */
import { NUMBERS } from "../spec.js";

export const WITHOUT_SAMPLING = "2026-10-21";
const SAMPLING = ["temperature", "top_p", "top_k"];
const LEAST_BUDGET = 1024;
const NAMES = /** @type {Record<string, string>} */ ({ temperature: "temperature", top_p: "top p", top_k: "top k" });

/** @typedef {Record<string, string>} Problems sentences by field */

/**
 * @param {import("../spec.js").Spec} spec
 * @param {string[]} toolNames those that the tools have, as far as they can be read
 * @returns {Problems}
 */
export function parameterProblems(spec, toolNames) {
  /** @type {Problems} */
  const found = { ...thinkingProblems(spec), ...choiceProblems(spec, toolNames) };
  for (const name of SAMPLING) {
    if (spec.api_version !== WITHOUT_SAMPLING || spec[name] === undefined) continue;
    found[name] = `API version ${WITHOUT_SAMPLING} refuses ${NAMES[name]}. Clear it, or choose the other version.`;
  }
  for (const name of NUMBERS) if (typeof spec[name] === "string") found[name] = "Not a number.";
  return found;
}

/** @param {import("../spec.js").Spec} spec @returns {Problems} */
function thinkingProblems({ thinking, max_tokens: most }) {
  if (thinking?.type !== "enabled") return {};
  const budget = thinking.budget_tokens;
  if (!Number.isInteger(budget)) return { thinking: "A budget is needed: a whole number of tokens." };
  if (budget < LEAST_BUDGET) return { thinking: `The least budget is ${LEAST_BUDGET.toLocaleString()} tokens.` };
  if (typeof most === "number" && budget >= most) {
    return { thinking: `The budget has to be less than max tokens (${most.toLocaleString()}), since thinking counts towards them.` };
  }
  return {};
}

/** @param {import("../spec.js").Spec} spec @param {string[]} toolNames @returns {Problems} */
function choiceProblems({ tool_choice: choice, tools }, toolNames) {
  if (!choice || choice.type === "none") return {};
  // Tools that are not in the page (a large text) are not known here.
  if (tools !== undefined && typeof tools !== "string") return {};
  if (toolNames.length === 0) return { tool_choice: "A tool choice makes sense together with tools only." };
  if (choice.type === "tool" && !toolNames.includes(choice.name)) return { tool_choice: `There is no tool named ${choice.name || "so"}.` };
  return {};
}
