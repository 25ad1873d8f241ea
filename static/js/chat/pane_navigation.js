/*
 * From one pane of chat to another (a conversation, the search, a new one) without a new page: the socket stays. The
 * server draws the pane as it does for a page; addresses, back and forward, and opening in a new tab are as with pages.
 */
import { ApiError, callText } from "../api.js";
import { one } from "../dom.js";
import { toastError } from "../toast.js";

const PANES = /^\/chat\/(?:new\/|search\/|[0-9a-f-]{36}\/)?$/;

export class PaneNavigation {
  /** @param {{onLeave: () => void, onArrive: () => void}} hooks onLeave: the pane goes; onArrive: another one is there */
  constructor(hooks) {
    this.hooks = hooks;
    /** @type {AbortController | null} */
    this.loading = null;
    history.scrollRestoration = "manual";
    document.addEventListener("click", (event) => this.#click(event));
    window.addEventListener("popstate", () => void this.#show(location.href));
  }

  /** @param {string} href */
  async go(href) {
    const url = new URL(href, location.href);
    await this.#show(url.href, () => url.href !== location.href && history.pushState(null, "", url));
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const link = /** @type {Element} */ (event.target).closest("main a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || (link.target && link.target !== "_self")) return;
    if (link.origin !== location.origin || !PANES.test(link.pathname) || link.hasAttribute("download")) return;
    // The list itself is drawn anew with the page: it may be at another place then.
    if (link.pathname === "/chat/" && link.search) return;
    event.preventDefault();
    void this.go(link.href);
  }

  /** @param {string} href @param {() => void} [arrived] */
  async #show(href, arrived) {
    this.loading?.abort();
    const loading = new AbortController();
    this.loading = loading;
    one(".chat-main").setAttribute("aria-busy", "true");
    try {
      const text = await callText(href, { signal: loading.signal });
      const page = new DOMParser().parseFromString(text, "text/html");
      // A page of another kind: signed out, say.
      if (!page.querySelector(".chat-main")) location.assign(href);
      else if (this.loading === loading) this.#swap(page, arrived);
    } catch (error) {
      if (loading.signal.aborted) return;
      // What the server refuses, it explains on a page of its own.
      if (error instanceof ApiError && error.status > 0) location.assign(href);
      else toastError(error);
    } finally {
      if (this.loading === loading) this.#settle();
    }
  }

  #settle() {
    this.loading = null;
    one(".chat-main").removeAttribute("aria-busy");
  }

  /** @param {Document} page @param {(() => void) | undefined} arrived */
  #swap(page, arrived) {
    this.hooks.onLeave();
    arrived?.();
    for (const part of ["title", ".chat-main"]) one(part).replaceWith(document.adoptNode(one(part, page)));
    one(".chat-side").className = one(".chat-side", page).className;
    const chosen = page.querySelector("[data-conversations] .is-chosen")?.getAttribute("data-conversation");
    for (const row of document.querySelectorAll("[data-conversations] > li")) {
      const is = row.getAttribute("data-conversation") === chosen;
      row.classList.toggle("is-chosen", is);
      one("[data-row-link]", row).toggleAttribute("aria-current", is);
      if (is) one("[data-row-link]", row).setAttribute("aria-current", "page");
    }
    this.#settle();
    this.hooks.onArrive();
  }
}
