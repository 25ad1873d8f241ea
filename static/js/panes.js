/* Three panes: borders that are dragged or moved with the arrow keys and remembered; one pane at a time on phones. */
import { one } from "./dom.js";
import { bindKey } from "./keys.js";

const STORE = "panes";
const STEP_PX = 24;
const LEAST_PX = 200;

/** @typedef {{history?: number, output?: number, hidden?: boolean}} Kept */

/** @returns {Kept} */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Kept} change */
function keep(change) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...kept(), ...change }));
  } catch {
    // A width that is not remembered is no loss.
  }
}

/**
 * @param {HTMLElement} bench
 * @param {"history" | "output"} pane
 * @param {number} wanted
 */
function resize(bench, pane, wanted) {
  const width = Math.round(Math.min(Math.max(wanted, LEAST_PX), bench.clientWidth * 0.6));
  bench.style.setProperty(`--pane-${pane}`, `${width}px`);
  const handle = one(`[data-splitter="${pane}"]`, bench);
  handle.setAttribute("aria-valuenow", String(Math.round((100 * width) / bench.clientWidth)));
  return width;
}

/**
 * @param {HTMLElement} bench
 * @param {HTMLElement} handle
 */
function bindSplitter(bench, handle) {
  const pane = handle.dataset.splitter === "history" ? "history" : "output";
  const widthAt = (/** @type {number} */ x) => {
    const box = bench.getBoundingClientRect();
    return pane === "history" ? x - box.left : box.right - x;
  };
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    handle.dataset.dragging = "";
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (handle.dataset.dragging !== undefined) resize(bench, pane, widthAt(event.clientX));
  });
  handle.addEventListener("pointerup", (event) => {
    if (handle.dataset.dragging === undefined) return;
    delete handle.dataset.dragging;
    keep({ [pane]: resize(bench, pane, widthAt(event.clientX)) });
  });
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -STEP_PX, ArrowRight: STEP_PX }[event.key];
    if (!step) return;
    event.preventDefault();
    keep({ [pane]: resize(bench, pane, widthAt(handle.getBoundingClientRect().left + step)) });
  });
}

/** @param {HTMLElement} bench */
function bindHistoryToggle(bench) {
  const button = one("[data-toggle-history]", document, HTMLElement);
  const apply = (/** @type {boolean} */ hidden) => {
    if (hidden) bench.dataset.history = "hidden";
    else delete bench.dataset.history;
    button.setAttribute("aria-pressed", String(!hidden));
  };
  apply(kept().hidden ?? false);
  button.addEventListener("click", () => {
    const hidden = bench.dataset.history !== "hidden";
    apply(hidden);
    keep({ hidden });
  });
}

/**
 * On narrow screens: shows one pane.
 * @param {HTMLElement} bench
 * @param {string} pane
 */
export function showPane(bench, pane) {
  if (bench.dataset.pane !== pane && document.scrollingElement) document.scrollingElement.scrollTop = 0;
  bench.dataset.pane = pane;
  for (const button of document.querySelectorAll("[data-pane-tabs] button")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("value") === pane));
  }
}

const ORDER = ["history", "editor", "output"];
const FOCUSABLE = "[tabindex='0'], [contenteditable='true'], a[href], button, input, select, textarea";

/** F6 leads from pane to pane, each time to where one was in it. @param {HTMLElement} bench */
function bindPaneKeys(bench) {
  const paneOf = (/** @type {string} */ name) => one(`.pane-${name}`, bench, HTMLElement);
  /** @type {Map<string, HTMLElement>} */
  const left = new Map();
  bench.addEventListener("focusin", ({ target }) => {
    const name = ORDER.find((each) => target instanceof Node && paneOf(each).contains(target));
    if (name && target instanceof HTMLElement) left.set(name, target);
  });
  const enter = (/** @type {string} */ name) => {
    showPane(bench, name);
    const known = left.get(name);
    const places = /** @type {NodeListOf<HTMLElement>} */ (paneOf(name).querySelectorAll(FOCUSABLE));
    const place = known?.isConnected && known.checkVisibility() ? known : [...places].find((each) => each.checkVisibility());
    place?.focus();
    return place !== undefined;
  };
  const walk = (/** @type {number} */ step) => {
    const now = ORDER.findIndex((name) => paneOf(name).contains(document.activeElement));
    for (const turn of ORDER.keys()) {
      if (enter(ORDER[(now + step * (turn + 1) + 3 * ORDER.length) % ORDER.length])) return;
    }
  };
  bindKey("f6", "To the next pane", () => walk(1));
  bindKey("shift+f6", "To the pane before", () => walk(-1));
}

/** @param {HTMLElement} bench */
export function bindPanes(bench) {
  bindPaneKeys(bench);
  showPane(bench, "editor");
  one("[data-pane-tabs]").addEventListener("click", (event) => {
    const value = /** @type {Element} */ (event.target).closest("button")?.value;
    if (value) showPane(bench, value);
  });
  const { history, output } = kept();
  if (history) resize(bench, "history", history);
  if (output) resize(bench, "output", output);
  for (const handle of bench.querySelectorAll("[data-splitter]")) bindSplitter(bench, /** @type {HTMLElement} */ (handle));
  bindHistoryToggle(bench);
}
