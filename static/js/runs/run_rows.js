/* Rows of runs that are not over: boxes to choose them, and their state as it goes on. */
import { one } from "../dom.js";
import { bindKey } from "../keys.js";
import { paintTimes } from "../time.js";

const EVERY_MS = 3000;
const AT_MOST_MS = 60_000;

export class RunRows {
  /** @param {(ids: string[]) => void} onStop */
  constructor(onStop) {
    this.bar = one("[data-runs-bulk]", document, HTMLElement);
    this.all = one("[data-runs-all]", this.bar, HTMLInputElement);
    this.stop = one("[data-runs-stop]", this.bar, HTMLButtonElement);
    this.list = one("[data-runs]", document, HTMLElement);
    this.wait = EVERY_MS;
    this.list.addEventListener("change", () => this.#paint());
    this.all.addEventListener("change", () => {
      for (const box of this.#boxes()) box.checked = this.all.checked;
      this.#paint();
    });
    this.stop.addEventListener("click", () => onStop(this.#chosen()));
    bindKey("x", "Select this run", () => this.#toggleFocused());
    window.addEventListener("pageshow", () => this.#paint());
    this.#paint();
  }

  /** Asks for the page again while something on it goes on, less and less often where nothing changes. */
  follow() {
    setTimeout(async () => {
      if (document.visibilityState === "visible") await this.#refresh();
      if (this.list.querySelector("[data-open]")) this.follow();
    }, this.wait);
  }

  #boxes() {
    return /** @type {HTMLInputElement[]} */ ([...this.list.querySelectorAll("[data-run-select]")]);
  }

  #chosen() {
    return this.#boxes()
      .filter((box) => box.checked)
      .map((box) => box.closest("[data-run]")?.getAttribute("data-run") ?? "");
  }

  #toggleFocused() {
    const box = document.activeElement?.closest("[data-run]")?.querySelector("[data-run-select]");
    if (!(box instanceof HTMLInputElement)) return;
    box.checked = !box.checked;
    this.#paint();
  }

  async #refresh() {
    const answer = await fetch(location.href, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    let changed = false;
    for (const row of this.list.querySelectorAll("[data-open]")) {
      const found = fresh.querySelector(`[data-run="${row.getAttribute("data-run")}"]`);
      if (found) changed = this.#replace(row, /** @type {Element} */ (document.importNode(found, true))) || changed;
    }
    this.wait = changed ? EVERY_MS : Math.min(this.wait * 1.5, AT_MOST_MS);
    if (!changed) return;
    paintTimes();
    this.#paint();
  }

  /** @param {Element} row @param {Element} fresh @returns {boolean} whether it says something else */
  #replace(row, fresh) {
    const state = (/** @type {Element} */ of) => of.querySelector("[data-state]")?.getAttribute("data-state");
    if (state(row) === state(fresh)) return false;
    // The last open one of the fresh page took the column of boxes with it.
    if (!fresh.querySelector(".row-check")) fresh.prepend(Object.assign(document.createElement("span"), { className: "row-check" }));
    const focused = row.contains(document.activeElement);
    const chosen = row.querySelector("[data-run-select]:checked") !== null;
    const box = fresh.querySelector("[data-run-select]");
    if (box instanceof HTMLInputElement) box.checked = chosen;
    row.replaceWith(fresh);
    if (focused) /** @type {HTMLElement | null} */ (fresh.querySelector("[data-row-link]"))?.focus();
    return true;
  }

  #paint() {
    const boxes = this.#boxes();
    const count = this.#chosen().length;
    this.bar.hidden = boxes.length === 0;
    this.all.checked = count > 0 && count === boxes.length;
    this.all.indeterminate = count > 0 && count < boxes.length;
    this.stop.hidden = count === 0;
    one("[data-runs-count]", this.bar).textContent = count === 0 ? "Select what is not over" : `${count.toLocaleString()} selected`;
  }
}
