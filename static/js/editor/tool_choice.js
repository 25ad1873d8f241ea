/* Whether and which tool the model has to call. */
import { el, one } from "../dom.js";

/** @typedef {Record<string, any> & {type: string}} Choice */

const KINDS = [
  ["", "Not sent (the model decides)"],
  ["auto", "auto: the model decides"],
  ["any", "any: it has to call one"],
  ["none", "none: it calls no tool"],
];

/**
 * The tool choice that stands for what is chosen; fields that no control shows are kept.
 * @param {Choice | undefined} saved
 * @param {string} kind "" | "auto" | "any" | "none" | "tool:NAME" | "saved"
 * @param {boolean} isSingle one call at a time
 * @returns {Choice | undefined}
 */
export function choiceOf(saved, kind, isSingle) {
  if (kind === "" || kind === "saved") return kind ? saved : undefined;
  const [type, ...name] = kind.split(":");
  /** @type {Choice} */
  const choice = type === "tool" ? { type, name: name.join(":") } : { type };
  const wasSingle = saved?.disable_parallel_tool_use;
  if (type !== "none" && (isSingle || wasSingle === false)) choice.disable_parallel_tool_use = isSingle;
  const isSame = saved && saved.type === choice.type && saved.name === choice.name && (wasSingle ?? false) === (choice.disable_parallel_tool_use ?? false);
  return isSame ? saved : choice;
}

/** The value of the list for a choice. @param {Choice | undefined} choice */
export function kindOf(choice) {
  if (!choice) return "";
  if (choice.type === "tool") return typeof choice.name === "string" ? `tool:${choice.name}` : "saved";
  return KINDS.some(([kind]) => kind === choice.type) ? choice.type : "saved";
}

export class ToolChoice {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.select = one("[data-tool-choice]", root, HTMLSelectElement);
    this.single = one("[data-tool-single]", root, HTMLInputElement);
    /** @type {Choice | undefined} */
    this.saved = undefined;
    /** @type {string[]} */
    this.names = [];
    this.select.addEventListener("change", onChange);
    this.single.addEventListener("change", onChange);
  }

  /** @param {Choice | undefined} choice */
  load(choice) {
    this.saved = choice;
    this.single.checked = choice?.disable_parallel_tool_use === true;
    this.#fill(kindOf(choice));
  }

  read() {
    return choiceOf(this.saved, this.select.value, this.single.checked);
  }

  /** @param {string[]} names of the tools there are */
  offer(names) {
    if (names.join("\0") === this.names.join("\0")) return;
    this.names = names;
    this.#fill(this.select.value);
  }

  /** @param {string} chosen */
  #fill(chosen) {
    const names = [...new Set(this.names.filter(Boolean))];
    const gone = chosen.startsWith("tool:") && !names.includes(chosen.slice(5)) ? [chosen.slice(5)] : [];
    const tools = [...names, ...gone].map((name) => el("option", { value: `tool:${name}` }, gone.includes(name) ? `${name} (no such tool)` : `${name}: it has to call this`));
    const kept = chosen === "saved" ? [el("option", { value: "saved" }, `Kept as saved: ${JSON.stringify(this.saved)}`)] : [];
    this.select.replaceChildren(...KINDS.map(([value, words]) => el("option", { value }, words)), ...tools, ...kept);
    this.select.value = chosen;
    this.paint();
  }

  paint() {
    this.single.disabled = this.select.disabled || ["", "none", "saved"].includes(this.select.value);
  }
}
