/* Beside a selected passage: the button that comments on it. A key does the same. */
import { one } from "../dom.js";
import { bindKey } from "../keys.js";
import { toast } from "../toast.js";

/** @typedef {import("./texts.js").Passage} Passage */

const QUIET_MS = 150;
const GAP = 6;

/**
 * @param {import("./texts.js").Texts} texts
 * @param {(passage: Passage) => void} onComment
 */
export function bindCommentButton(texts, onComment) {
  const button = one("[data-comment-selection]", document, HTMLButtonElement);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const hide = () => {
    button.hidden = true;
  };

  const look = () => {
    const found = texts.selected();
    if (found) texts.lastSelected = found;
    // A press on the button itself, or a field of the pane, is no new selection.
    if (!found || "problem" in found) {
      if (document.activeElement !== button) hide();
      return;
    }
    button.hidden = false;
    const { box } = found;
    const below = box.bottom + GAP + button.offsetHeight < innerHeight;
    button.style.setProperty("left", `${Math.max(8, Math.min(box.left, innerWidth - button.offsetWidth - 8))}px`);
    button.style.setProperty("top", `${below ? box.bottom + GAP : Math.max(8, box.top - button.offsetHeight - GAP)}px`);
  };

  const start = (/** @type {boolean} */ line) => {
    const found = texts.selected({ line });
    hide();
    if (!found) toast("Select a passage of the text first.", { tone: "warn" });
    else if ("problem" in found) toast(found.problem, { tone: "warn" });
    else onComment(found.passage);
  };

  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = setTimeout(look, QUIET_MS);
  });
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  addEventListener("resize", hide);
  // The editor keeps the focus, and with it the selection.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => start(false));
  bindKey("mod+alt+m", "Comment on the selection, or the line", () => start(true));
}
