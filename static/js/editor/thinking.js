/* Whether the model thinks before it answers, and with how many tokens. */
import { el, one } from "../dom.js";
import { readNumber } from "../spec.js";

/** @typedef {Record<string, any> & {type: string}} ThinkingConfig */

const KINDS = [
  ["", "Not sent"],
  ["disabled", "Off"],
  ["enabled", "On, with a budget"],
  ["adaptive", "Adaptive: the model decides"],
];

/**
 * @param {ThinkingConfig | undefined} saved fields that no control shows are kept with their type
 * @param {string} kind "" | "disabled" | "enabled" | "adaptive" | "saved"
 * @param {string} budget as typed
 * @returns {ThinkingConfig | undefined}
 */
export function thinkingOf(saved, kind, budget) {
  if (kind === "" || kind === "saved") return kind ? saved : undefined;
  /** @type {ThinkingConfig} */
  const kept = saved?.type === kind ? saved : { type: kind };
  if (kind !== "enabled") return kept;
  const tokens = readNumber(budget);
  if (kept.budget_tokens === tokens) return kept;
  const changed = { ...kept, budget_tokens: tokens };
  if (tokens === undefined) delete changed.budget_tokens;
  return changed;
}

/** @param {ThinkingConfig | undefined} thinking */
export function thinkingKind(thinking) {
  if (!thinking) return "";
  return KINDS.some(([kind]) => kind === thinking.type) ? thinking.type : "saved";
}

export class Thinking {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.select = one("[data-thinking]", root, HTMLSelectElement);
    this.budget = one("[data-thinking-budget]", root, HTMLInputElement);
    /** @type {ThinkingConfig | undefined} */
    this.saved = undefined;
    this.select.addEventListener("change", () => {
      this.#paint();
      onChange();
      if (this.select.value === "enabled") this.budget.focus();
    });
    this.budget.addEventListener("input", onChange);
  }

  /** @param {ThinkingConfig | undefined} thinking */
  load(thinking) {
    this.saved = thinking;
    const kind = thinkingKind(thinking);
    const kept = kind === "saved" ? [el("option", { value: "saved" }, `Kept as saved: ${JSON.stringify(thinking)}`)] : [];
    this.select.replaceChildren(...KINDS.map(([value, words]) => el("option", { value }, words)), ...kept);
    this.select.value = kind;
    this.budget.value = thinking?.budget_tokens === undefined ? "" : String(thinking.budget_tokens);
    this.#paint();
  }

  read() {
    return thinkingOf(this.saved, this.select.value, this.budget.value);
  }

  #paint() {
    this.budget.hidden = this.select.value !== "enabled";
  }
}
