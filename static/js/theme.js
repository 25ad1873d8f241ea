/* <div data-theme-choice> with buttons "", "light", "dark": kept in a cookie, so that the server paints it at once. */

const YEAR_S = 31_536_000;

/** @param {string} theme "" follows the system */
function apply(theme) {
  const root = document.documentElement;
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  for (const button of document.querySelectorAll("[data-theme-choice] button")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("value") === theme));
  }
}

/** @param {string} theme */
function keep(theme) {
  document.cookie = `theme=${theme}; path=/; max-age=${theme ? YEAR_S : 0}; samesite=lax`;
}

export function bindTheme() {
  apply(document.documentElement.dataset.theme ?? "");
  document.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-theme-choice] button");
    if (!button) return;
    const theme = button.getAttribute("value") ?? "";
    keep(theme);
    apply(theme);
  });
}
