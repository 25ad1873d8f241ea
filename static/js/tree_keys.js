/* The keys of the tree. Letters work anywhere on the page but in a field; arrows and Enter when the tree has the focus. */
import { bindKey } from "./keys.js";

/** @typedef {import("./tree_view.js").TreeView} TreeView */
/** @typedef {{open: (number: number) => void, compare: () => void, columns: () => void, branch: (number: number) => void, label: (number: number) => void}} Actions */

/**
 * @param {TreeView} view
 * @param {KeyboardEvent} event
 * @returns {number} rows down; 0 for another key
 */
function stepOf(view, event) {
  const most = view.model.count;
  const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: view.pageSize, PageUp: -view.pageSize, Home: -most, End: most };
  return steps[/** @type {keyof typeof steps} */ (event.key)] ?? 0;
}

/**
 * @param {TreeView} view
 * @param {Actions} actions
 */
function bindList(view, actions) {
  view.list.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = stepOf(view, event);
    if (step) view.move(step);
    else if (event.key === "Enter") actions.open(view.active);
    else if (event.key === " ") view.toggleMark(view.active);
    else if (event.key === "Escape" && view.marks.length > 0) view.clearMarks();
    else return;
    event.preventDefault();
  });
}

/**
 * @param {TreeView} view
 * @param {Actions} actions
 */
export function bindTreeKeys(view, actions) {
  const inTree = (/** @type {() => void} */ action) => () => {
    if (!view.list.checkVisibility()) return;
    view.list.focus({ preventScroll: true });
    action();
  };
  const walk = (/** @type {() => number | undefined} */ next) => inTree(() => view.goTo(next()));
  const step = (/** @type {number} */ rows) => inTree(() => view.move(rows));
  bindList(view, actions);
  bindKey("j", "History: next version", step(1));
  bindKey("k", "History: previous version", step(-1));
  bindKey("alt+arrowup", "History: to the parent", walk(() => view.model.parent(view.active)));
  bindKey("alt+arrowdown", "History: to the child", walk(() => view.model.child(view.active)));
  bindKey("alt+arrowleft", "History: sibling before", walk(() => view.model.sibling(view.active, -1)));
  bindKey("alt+arrowright", "History: sibling after", walk(() => view.model.sibling(view.active, 1)));
  bindKey("c", "Compare", () => actions.compare());
  bindKey("alt+c", "Compare runs", () => actions.columns());
  bindKey("b", "Branch from the version", () => actions.branch(view.active));
  bindKey("l", "Labels of the version", () => actions.label(view.active));
}
