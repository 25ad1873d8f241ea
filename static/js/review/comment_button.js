/*
 * What floats beside the text: on a selected passage the button that comments on it, at a marked one the button that
 * shows its thread. Neither takes the focus from the editor. A key does the same as the first.
 */
import { one } from "../dom.js";
import { bindKey } from "../keys.js";
import { toast } from "../toast.js";

/** @typedef {import("./texts.js").Passage} Passage */

const QUIET_MS = 150;
const GAP = 6;

/** @param {HTMLButtonElement} button @param {DOMRect} box */
function showBeside(button, box) {
  button.hidden = false;
  const below = box.bottom + GAP + button.offsetHeight < innerHeight;
  button.style.setProperty("left", `${Math.max(8, Math.min(box.left, innerWidth - button.offsetWidth - 8))}px`);
  button.style.setProperty("top", `${below ? box.bottom + GAP : Math.max(8, box.top - button.offsetHeight - GAP)}px`);
}

/**
 * @param {import("./texts.js").Texts} texts
 * @param {{onComment: ((passage: Passage) => void) | null, onPoint: (id: string) => boolean, onOpen: (id: string) => void}} hooks
 */
export function bindFloating(texts, { onComment, onPoint, onOpen }) {
  const button = one("[data-comment-selection]", document, HTMLButtonElement);
  const opener = one("[data-comment-show]", document, HTMLButtonElement);
  let named = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const hide = () => {
    button.hidden = opener.hidden = true;
  };

  const look = () => {
    const found = texts.selected();
    // The focus went to the pane, say: what was selected stays what Attach means.
    if (found) texts.lastSelected = found;
    if (!onComment || !found || "problem" in found) button.hidden = true;
    else showBeside(button, found.box);
    if (found) opener.hidden = true;
  };

  const start = (/** @type {boolean} */ line) => {
    const found = texts.selected({ line });
    hide();
    if (!found) toast("Select a passage of the text first.", { tone: "warn" });
    else if ("problem" in found) toast(found.problem, { tone: "warn" });
    else onComment?.(found.passage);
  };

  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = setTimeout(look, QUIET_MS);
  });
  one("[data-editor-pane]", document, HTMLElement).addEventListener("click", (event) => {
    const mark = /** @type {Element} */ (event.target).closest("[data-passage]");
    opener.hidden = true;
    if (!(mark instanceof HTMLElement) || !(getSelection()?.isCollapsed ?? true)) return;
    named = mark.dataset.passage ?? "";
    if (!onPoint(named)) showBeside(opener, mark.getBoundingClientRect());
  });
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  addEventListener("resize", hide);
  for (const each of [button, opener]) each.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => start(false));
  opener.addEventListener("click", () => {
    hide();
    onOpen(named);
  });
  look();
  if (onComment) bindKey("mod+alt+m", "Comment on the selection, or the line", () => start(true));
}
