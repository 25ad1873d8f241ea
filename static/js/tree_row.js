/* One version in the tree: number, what points at it, message, author, when. */
import { el, icon } from "./dom.js";
import { timeElement } from "./time.js";

/** @typedef {import("./tree_model.js").Node} Node */
/** @typedef {import("./tree_model.js").TreeModel} TreeModel */

/** "Ada Lovelace": "AL". @param {string} name */
export function initials(name) {
  const words = name.trim().split(/[\s.@_-]+/u).filter(Boolean);
  return words.slice(0, 2).map((word) => Array.from(word)[0].toLocaleUpperCase()).join("") || "?";
}

/** @param {string[]} heads @param {string[]} labels @param {boolean} hasDraft */
function chips(heads, labels, hasDraft) {
  const draft = el("span", { class: "tree-chip is-draft", title: "You have unsaved text on this version" }, icon("pencil"), "draft");
  const all = [
    ...(hasDraft ? [draft] : []),
    ...labels.map((name) => el("span", { class: "tree-chip is-label", "data-label": name, title: `Label ${name}` }, icon("tag"), el("bdi", {}, name))),
    ...heads.map((name) => el("span", { class: "tree-chip", title: `Head of ${name}` }, icon("git-branch"), el("bdi", {}, name))),
  ];
  // A narrow history has room for one, a wide one for two: the style sheet chooses.
  const [first, second, ...others] = all;
  second?.classList.add("is-wide");
  const rest = [
    ...(others.length > 0 ? [remainder(others, "is-wide")] : []),
    ...(second ? [remainder([second, ...others], "is-narrow")] : []),
  ];
  return [first, second, ...rest].filter(Boolean);
}

/** @param {HTMLElement[]} chips that are not shown @param {string} name */
function remainder(chips, name) {
  return el("span", { class: `tree-chip is-more ${name}`, title: chips.map((chip) => chip.title).join(", ") }, `+${chips.length}`);
}

/**
 * @param {Node} node
 * @param {TreeModel} model
 * @param {{row: number, indent: number, top: number, isOpen: boolean, isMarked: boolean, isActive: boolean}} look
 */
export function treeRow(node, model, { row, indent, top, isOpen, isMarked, isActive }) {
  const author = node.author ?? "someone";
  const message = el("span", { class: "tree-message truncate", dir: "auto", title: node.message || undefined }, node.message || "No message");
  message.classList.toggle("is-absent", !node.message);
  const attributes = {
    class: "tree-row",
    id: `version-${node.number}`,
    role: "option",
    "data-number": node.number,
    "aria-setsize": model.count,
    "aria-posinset": row + 1,
    "aria-selected": String(isMarked),
    "aria-current": isOpen && "true",
  };
  const element = el(
    "div",
    attributes,
    el("span", { class: "tree-number numeric" }, `v${node.number}`),
    ...chips(model.headsAt(node.number), model.labelsAt(node.number), model.drafts.has(node.number)),
    message,
    el("span", { class: "tree-author truncate", "data-initials": initials(author), title: author }, author),
    timeElement(new Date(node.at * 1000).toISOString()),
    el("span", { class: "visually-hidden" }, model.describe(node)),
  );
  element.classList.toggle("is-active", isActive);
  element.style.setProperty("top", `${top}px`);
  element.style.setProperty("padding-inline-start", `${indent}px`);
  return element;
}
