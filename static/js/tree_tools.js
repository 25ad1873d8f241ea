/* What can be done with the active version: buttons beneath the tree that say exactly what they will do. */
import { one } from "./dom.js";
import { keyNames } from "./keys.js";
import { may } from "./sharing/permissions.js";

/** @typedef {{label: string, enabled: boolean}} Tool */
/** @typedef {"compare" | "columns" | "branch" | "label" | "merge" | "restore"} ToolName */

const KEYS = /** @type {Record<string, string>} */ ({ compare: "c", columns: "alt+c", branch: "b", label: "l" });

/**
 * @param {import("./tree_view.js").TreeView} view
 * @param {string} branch the one that changes go to
 * @param {boolean} canChange
 * @returns {Record<ToolName, Tool>}
 */
function tools(view, branch, canChange) {
  const { active, model, pair } = view;
  const head = model.head(branch);
  const here = `version ${active}`;
  return {
    compare: { label: pair ? `Compare versions ${pair[0]} and ${pair[1]}` : "Compare", enabled: pair !== null },
    columns: { label: pair ? `Compare runs of versions ${pair[0]} and ${pair[1]}` : `Compare runs of ${here}`, enabled: active > 0 && may("run") },
    branch: { label: `Branch from ${here}`, enabled: canChange && active > 0 },
    label: { label: `Labels of ${here}`, enabled: canChange && active > 0 },
    merge: { label: `Merge ${here} into ${branch}`, enabled: canChange && head !== undefined && !model.isAncestor(active, head) },
    restore: { label: `Make ${here} the newest on ${branch}`, enabled: canChange && head !== undefined && active !== head },
  };
}

export class TreeTools {
  /**
   * @param {HTMLElement} root
   * @param {(name: ToolName) => void} onUse
   */
  constructor(root, onUse) {
    this.root = root;
    root.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("[data-tool]");
      if (button) onUse(/** @type {ToolName} */ (button.getAttribute("data-tool")));
    });
    root.addEventListener("keydown", (event) => this.#walk(event));
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const buttons = /** @type {HTMLElement[]} */ ([...this.root.querySelectorAll("[data-tool]:not(:disabled)")]);
    buttons[(buttons.findIndex((button) => button === document.activeElement) + step + buttons.length) % buttons.length]?.focus();
  }

  /**
   * @param {import("./tree_view.js").TreeView} view
   * @param {string} branch
   * @param {boolean} canChange
   */
  paint(view, branch, canChange) {
    this.root.hidden = view.active === 0;
    one("[data-tool-version]", this.root).textContent = `v${view.active}`;
    for (const [name, { label, enabled }] of Object.entries(tools(view, branch, canChange))) {
      const button = one(`[data-tool="${name}"]`, this.root, HTMLButtonElement);
      button.disabled = !enabled;
      button.setAttribute("aria-label", label);
      button.title = KEYS[name] ? `${label} (${keyNames(KEYS[name])})` : label;
    }
  }
}
