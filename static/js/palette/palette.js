/*
 * Ctrl/Cmd+K: one field that reaches every prompt, version, person, page and action. A combobox: the focus stays in
 * the field, the arrows move in the list, Enter goes or does, Ctrl/Cmd+Enter opens another tab.
 */
import { openDialog } from "../dialog.js";
import { afterQuiet, el, icon, one } from "../dom.js";
import { bindKey } from "../keys.js";
import { toastError } from "../toast.js";
import { fitting } from "./matching.js";
import { Versions, actions, pages, people, prompts } from "./sources.js";

/** @typedef {import("./sources.js").Item} Item */
/** @typedef {import("./sources.js").Group} Group */

const QUIET_MS = 120;
const MOST = 8;

class Palette {
  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.dialog = dialog;
    this.field = one("[data-palette-field]", dialog, HTMLInputElement);
    this.list = one("[data-palette-list]", dialog, HTMLElement);
    this.note = one("[data-palette-note]", dialog, HTMLElement);
    this.versions = new Versions();
    this.asking = new AbortController();
    /** @type {Item[]} */
    this.shown = [];
    this.at = 0;
    const ask = afterQuiet(() => void this.#ask(), QUIET_MS);
    this.field.addEventListener("input", () => {
      this.note.textContent = "Searching…";
      this.#paint([...this.#here(), ...this.#remembered()]);
      ask();
    });
    this.field.addEventListener("keydown", (event) => this.#pressed(event));
    this.list.addEventListener("click", (event) => this.#clicked(event));
    this.list.addEventListener("pointermove", (event) => this.#pointed(event));
    dialog.addEventListener("close", () => this.asking.abort());
    /** What the server said for the last words, shown on until it has said something else. @type {Group[]} */
    this.told = [];
  }

  open() {
    if (this.dialog.open) {
      this.dialog.close();
      return;
    }
    this.field.value = "";
    this.told = [];
    openDialog(this.dialog);
    this.#paint(this.#here());
    void this.#ask();
  }

  /** What is known without asking anybody. @returns {Group[]} */
  #here() {
    const query = this.field.value;
    return [
      { title: "On this page", items: fitting(actions(), query, MOST) },
      { title: "Pages", items: fitting(pages(), query, MOST) },
    ];
  }

  #remembered() {
    return this.told.map(({ title, items }) => ({ title, items: fitting(items, this.field.value, MOST) }));
  }

  async #ask() {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.versions.forget(signal);
    const query = this.field.value.trim();
    this.note.textContent = "Searching…";
    const asked = [prompts(query, signal), this.versions.find(query), people(query, signal)];
    const answers = await Promise.allSettled(asked);
    if (signal.aborted || !this.dialog.open) return;
    const [found, versions, persons] = answers.map((answer) => (answer.status === "fulfilled" ? answer.value : []));
    this.told = [
      { title: "Versions", items: versions },
      { title: "Prompts", items: found },
      { title: "People", items: persons },
    ];
    const here = this.#here();
    this.#paint(query ? [...this.told, ...here] : [...here, ...this.told]);
    const failed = answers.some((answer) => answer.status === "rejected");
    this.note.textContent = failed ? "The server did not answer everything. Pages and actions still work." : this.#count();
  }

  #count() {
    if (this.shown.length === 0) return "Nothing fits. Prompts are found by their name and by words in any version.";
    return `${this.shown.length} ${this.shown.length === 1 ? "result" : "results"}`;
  }

  /** @param {Group[]} groups */
  #paint(groups) {
    const kept = this.shown[this.at]?.title;
    const filled = groups.filter(({ items }) => items.length > 0);
    this.shown = filled.flatMap(({ items }) => items);
    let number = 0;
    this.list.replaceChildren(
      ...filled.map(({ title, items }) => {
        const rows = items.map((item) => row(item, number++));
        return el("div", { role: "group", "aria-label": title, class: "palette-group" }, el("div", { class: "palette-title", "aria-hidden": "true" }, title), ...rows);
      }),
    );
    const again = this.field.value ? 0 : this.shown.findIndex(({ title }) => title === kept);
    this.#choose(Math.max(0, again));
  }

  /** @param {number} at */
  #choose(at) {
    this.at = Math.min(Math.max(at, 0), Math.max(this.shown.length - 1, 0));
    const rows = this.list.querySelectorAll("[role=option]");
    rows.forEach((each, index) => each.setAttribute("aria-selected", String(index === this.at)));
    const chosen = rows[this.at];
    this.field.setAttribute("aria-activedescendant", chosen?.id ?? "");
    chosen?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const last = this.shown.length - 1;
    const to = { ArrowDown: this.at === last ? 0 : this.at + 1, ArrowUp: this.at === 0 ? last : this.at - 1, PageDown: this.at + 8, PageUp: this.at - 8 }[event.key];
    if (to !== undefined) this.#choose(to);
    else if (event.key === "Enter") this.#take(this.shown[this.at], event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  }

  /** @param {Item | undefined} item @param {boolean} apart in a tab of its own */
  #take(item, apart) {
    if (!item) return;
    if (item.href && apart) {
      window.open(item.href, "_blank", "noopener");
      return;
    }
    this.dialog.close();
    if (item.href) location.assign(item.href);
    else item.act?.();
  }

  /** @param {Event} event */
  #indexOf(event) {
    const target = /** @type {Element} */ (event.target).closest("[role=option]");
    return target ? Number(target.getAttribute("data-index")) : -1;
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const index = this.#indexOf(event);
    if (index >= 0) this.#take(this.shown[index], event.ctrlKey || event.metaKey);
  }

  /** @param {PointerEvent} event */
  #pointed(event) {
    const index = this.#indexOf(event);
    // Rows that move under a pointer which rests choose nothing.
    if (index >= 0 && index !== this.at && (event.movementX || event.movementY)) this.#choose(index);
  }
}

/**
 * @param {Item} item
 * @param {number} index
 */
function row(item, index) {
  const title = el("bdi", { class: "palette-name truncate" }, item.title);
  const hint = el("bdi", { class: "palette-hint truncate" }, item.hint ?? "");
  const keys = (item.keys ?? []).map((name) => el("kbd", {}, name));
  return el("div", { role: "option", id: `palette-${index}`, "data-index": index, class: "palette-row", "aria-selected": "false" }, icon(item.icon), title, hint, ...keys);
}

export function bindPalette() {
  const dialog = document.querySelector("[data-palette]");
  if (!(dialog instanceof HTMLDialogElement)) return;
  const palette = new Palette(dialog);
  const open = () => {
    try {
      palette.open();
    } catch (error) {
      toastError(error);
    }
  };
  bindKey("mod+k", "Go to, or do, anything", open);
  for (const button of document.querySelectorAll("[data-palette-open]")) button.addEventListener("click", open);
}
