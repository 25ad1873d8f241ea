/* Where the palette finds what it offers: the page's own keys and buttons, the pages, and what the server knows. */
import { versionPage } from "../addresses.js";
import { call } from "../api.js";
import { one, pageData } from "../dom.js";
import { keyNames, pageBindings } from "../keys.js";
import { fitting } from "./matching.js";

/**
 * `href` leads somewhere, `act` does something here; one of the two.
 * @typedef {{title: string, hint?: string, icon: string, href?: string, act?: () => void, keys?: string[]}} Item
 * @typedef {{title: string, items: Item[]}} Group
 */

const MOST = 8;
const BUTTONS = ".topbar-actions button, .page-head button, [data-palette-action], .menu .menu-item";

/** What can be done on this page: its keys, then its buttons that have none. @returns {Item[]} */
export function actions() {
  const keyed = pageBindings().map(({ combination, label, action }) => ({
    title: label,
    icon: "keyboard",
    act: () => action(new KeyboardEvent("keydown")),
    keys: keyNames(combination),
  }));
  const known = new Set(keyed.map(({ title }) => title.toLowerCase()));
  const buttons = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(BUTTONS));
  const others = [...buttons].filter(isOffered).flatMap((button) => {
    const title = nameOf(button);
    if (!title || known.has(title.toLowerCase())) return [];
    known.add(title.toLowerCase());
    return [{ title, icon: "play", act: () => button.click() }];
  });
  return [...keyed, ...others];
}

/**
 * A menu that is closed still offers what is in it; what is hidden or not possible now it does not.
 * @param {HTMLElement} button
 */
function isOffered(button) {
  if (button.hidden || button.closest("[hidden], dialog") || button.matches(":disabled, [aria-disabled=true]")) return false;
  return button.closest("[popover]") !== null || button.checkVisibility();
}

/** @param {HTMLElement} button */
function nameOf(button) {
  const copy = /** @type {HTMLElement} */ (button.cloneNode(true));
  for (const key of copy.querySelectorAll("kbd, .faint")) key.remove();
  return (button.getAttribute("aria-label") ?? copy.textContent ?? "").replace(/\s+/g, " ").trim();
}

/** The pages that everybody has, as the server lists them. @returns {Item[]} */
export function pages() {
  const listed = one("template[data-palette-pages]", document, HTMLTemplateElement);
  return [...listed.content.querySelectorAll("a")].map((link) => ({
    title: link.textContent?.trim() ?? "",
    icon: link.dataset.icon ?? "file-text",
    href: link.getAttribute("href") ?? "/",
  }));
}

/**
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
export async function prompts(query, signal) {
  const asked = new URLSearchParams({ limit: String(MOST), whose: "any", ...(query ? { q: query } : {}) });
  const { results } = await call(`prompts?${asked}`, { signal });
  return results.map((/** @type {{id: string, name: string, folder: string}} */ row) => ({
    title: row.name,
    hint: row.folder,
    icon: "file-text",
    href: `/prompts/${row.id}/`,
  }));
}

/**
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<Item[]>}
 */
export async function people(query, signal) {
  if (query.trim().length < 2) return [];
  const { results } = await call(`chat/people?${new URLSearchParams({ q: query })}`, { signal });
  return results.slice(0, MOST).map((/** @type {{name: string, email: string | null}} */ row) => ({
    title: row.name,
    hint: row.email && row.email !== row.name ? row.email : "",
    icon: "user-round",
    href: `/chat/new/?${new URLSearchParams({ q: row.email || row.name })}`,
  }));
}

/* Labels, branches and the newest versions of the open prompt, asked for once while the palette is open. */
export class Versions {
  /** @type {Promise<Item[]> | null} */
  #known = null;

  /** @param {AbortSignal} signal */
  forget(signal) {
    signal.addEventListener("abort", () => {
      this.#known = null;
    });
  }

  /**
   * @param {string} query
   * @returns {Promise<Item[]>}
   */
  async find(query) {
    const id = pageData("page")?.prompt?.id;
    if (!id) return [];
    this.#known ??= this.#read(id);
    const number = /^\s*v?(\d{1,9})\s*$/i.exec(query)?.[1];
    const found = fitting(await this.#known, query, MOST);
    if (!number || found.some(({ title }) => title === `v${Number(number)}`)) return found;
    return [{ title: `v${Number(number)}`, hint: "Open this version", icon: "history", href: versionPage(id, Number(number)) }, ...found];
  }

  /**
   * @param {string} id
   * @returns {Promise<Item[]>}
   */
  async #read(id) {
    const [labels, branches, versions] = await Promise.all([call(`prompts/${id}/labels`), call(`prompts/${id}/branches`), call(`prompts/${id}/versions?limit=100`)]);
    return [
      ...labels.results.map((/** @type {{name: string, version: number}} */ row) => ({ title: row.name, hint: `label, v${row.version}`, icon: "tag", href: versionPage(id, row.version) })),
      ...branches.results.map((/** @type {{name: string, head: number}} */ row) => ({ title: row.name, hint: `branch, v${row.head}`, icon: "git-branch", href: versionPage(id, row.head, { branch: row.name }) })),
      ...versions.results.map((/** @type {{number: number, message: string}} */ row) => ({ title: `v${row.number}`, hint: row.message, icon: "history", href: versionPage(id, row.number) })),
    ];
  }
}
