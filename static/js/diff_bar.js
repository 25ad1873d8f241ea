/* How a difference is looked at: unified or side by side, blanks drawn or not. Both are remembered. */
import { one } from "./dom.js";
import { keepChoice, keptChoice } from "./kept_choice.js";

const NARROW = "(max-width: 900px)";

/** @param {import("./diff_view.js").DiffView} view */
export function bindDiffBar(view) {
  const layout = one("[data-diff-layout]", document, HTMLElement);
  const blanks = one("[data-diff-blanks]", document, HTMLButtonElement);
  const narrow = matchMedia(NARROW);
  const paint = () => {
    const wanted = keptChoice("diff-layout", "unified");
    const marks = keptChoice("diff-blanks", "auto") === "all";
    for (const button of layout.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === wanted));
    blanks.setAttribute("aria-pressed", String(marks));
    view.setLook({ split: wanted === "split" && !narrow.matches, marks });
  };
  layout.addEventListener("click", (event) => {
    const value = /** @type {Element} */ (event.target).closest("button")?.value;
    if (!value) return;
    keepChoice("diff-layout", value);
    paint();
  });
  blanks.addEventListener("click", () => {
    keepChoice("diff-blanks", blanks.getAttribute("aria-pressed") === "true" ? "auto" : "all");
    paint();
  });
  narrow.addEventListener("change", paint);
  paint();
}
