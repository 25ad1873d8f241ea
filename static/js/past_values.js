/* A menu of the values that the person's last runs of this prompt were filled with; one click fills them in. */
import { call } from "./api.js";
import { el, icon, one } from "./dom.js";
import { sizeWords } from "./large/sizes.js";
import { notice } from "./notices.js";
import { timeElement } from "./time.js";
import { toastError } from "./toast.js";

/** @typedef {{run: string, version: number, status: string, created_at: string, bytes: number, values: Record<string, string> | null}} PastValues */

const LONGEST_VALUE = 60;
const MOST_NAMES = 4;

/* Right-to-left names and values leave the line as it is. */
const isolated = (/** @type {string} */ text) => `\u2068${text}\u2069`;

/**
 * A set of values in one line: "name: Ada; topic: The sea …".
 * @param {Record<string, string>} values
 * @returns {string}
 */
export function valuesLine(values) {
  const parts = Object.entries(values).map(([name, value]) => {
    const line = value.replace(/\s+/g, " ").trim();
    const short = [...line].length > LONGEST_VALUE ? `${[...line].slice(0, LONGEST_VALUE).join("")}…` : line;
    return isolated(`${name}: ${value === "" ? "(empty)" : isolated(short || "(blanks)")}`);
  });
  const more = parts.length - MOST_NAMES;
  return parts.slice(0, MOST_NAMES).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

export class PastValuesMenu {
  /**
   * @param {string} promptId
   * @param {HTMLElement} root the panel of variables
   * @param {(values: Record<string, string>) => () => void} fill puts them in; gives the way back
   */
  constructor(promptId, root, fill) {
    this.path = `prompts/${promptId}/values`;
    this.fill = fill;
    this.button = one("[data-variables-past]", root, HTMLButtonElement);
    this.menu = one("[data-past-values]", document, HTMLElement);
    this.list = one("[data-past-values-list]", this.menu, HTMLElement);
    this.menu.addEventListener("toggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState === "open") void this.#open();
    });
    this.menu.addEventListener("keydown", (event) => this.#walk(event));
  }

  async #open() {
    this.#say("Loading…");
    this.#place();
    try {
      const { results } = await call(this.path);
      if (results.length === 0) this.#say("No run of yours had values yet. Run the prompt once, and they are here.");
      else this.list.replaceChildren(...results.map((/** @type {PastValues} */ row) => this.#row(row)));
    } catch (error) {
      this.#say(/** @type {Error} */ (error).message);
    }
    this.#place();
    this.list.querySelector("button")?.focus();
  }

  /** @param {string} words */
  #say(words) {
    this.list.replaceChildren(el("p", { class: "menu-note", role: "status" }, words));
  }

  /* Above its button if there is no room beneath; a position from script, because anchors are not known to every browser. */
  #place() {
    const box = this.button.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.right - this.menu.offsetWidth, innerWidth - this.menu.offsetWidth - 8));
    const below = box.bottom + 4 + this.menu.offsetHeight < innerHeight - 8;
    const top = below ? box.bottom + 4 : Math.max(8, box.top - 4 - this.menu.offsetHeight);
    this.menu.style.setProperty("left", `${left}px`);
    this.menu.style.setProperty("top", `${top}px`);
  }

  /** @param {PastValues} row */
  #row(row) {
    const words = row.values ? valuesLine(row.values) : `${sizeWords(row.bytes)} of values`;
    const about = el("span", { class: "faint" }, `v${row.version} · ${row.status} · `, timeElement(row.created_at));
    const button = el("button", { class: "menu-item past-values-row", type: "button" }, icon("history"), el("bdi", { class: "past-values-words" }, words), about);
    button.addEventListener("click", () => void this.#use(row));
    return button;
  }

  /** @param {PastValues} row */
  async #use(row) {
    this.menu.hidePopover();
    this.button.focus();
    try {
      const values = row.values ?? (await call(`${this.path}/${row.run}`)).values;
      const back = this.fill(values);
      notice(`Filled in as in a run of version ${row.version}.`, { name: "filled", actions: [{ label: "Put mine back", action: back }] });
    } catch (error) {
      toastError(error);
    }
  }

  /** @param {KeyboardEvent} event */
  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stops = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll("button")]);
    const here = stops.findIndex((stop) => stop === document.activeElement);
    stops[(here + step + stops.length) % stops.length]?.focus();
  }
}
