/* <div role="tablist"> of buttons with aria-controls: a click or the arrow keys choose one. */

/**
 * Tabs may share a panel, and one that is hidden is passed over.
 * @param {HTMLElement} list
 * @param {(tab: HTMLElement) => void} [onChoose]
 * @returns {(tab: HTMLElement) => void} chooses one
 */
export function bindTabs(list, onChoose = () => {}) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[role=tab]")]);

  /** @param {HTMLElement} chosen */
  function choose(chosen) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    const shown = chosen.getAttribute("aria-controls");
    for (const tab of tabs) {
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = panel.id !== shown;
      if (panel?.id === shown) panel?.setAttribute("aria-labelledby", chosen.id);
    }
    onChoose(chosen);
  }

  list.addEventListener("click", (event) => {
    const tab = /** @type {Element} */ (event.target).closest("[role=tab]");
    if (tab instanceof HTMLElement) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const shown = tabs.filter((tab) => !tab.hidden);
    const here = shown.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = shown[(here + step + shown.length) % shown.length];
    next.focus();
    choose(next);
  });
  return choose;
}
