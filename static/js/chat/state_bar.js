/* <div data-chat-state>: how the connection is, in words; nothing while it is well. */
import { el, one } from "../dom.js";

/** @typedef {import("./connection.js").State} State */

/** A short gap, such as that of a page that opens, is nobody's business. */
const SAY_AFTER_MS = 1000;

export class StateBar {
  constructor() {
    this.bar = one("[data-chat-state]", document, HTMLElement);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {State} state */
  show(state) {
    clearTimeout(this.timer);
    document.documentElement.dataset.chat = state;
    if (state === "live") this.bar.replaceChildren();
    else if (state === "connecting" || state === "waiting") this.timer = setTimeout(() => this.#reconnecting(), SAY_AFTER_MS);
    else this.#stopped(state);
  }

  #reconnecting() {
    const words = navigator.onLine ? "Reconnecting…" : "Offline.";
    this.bar.replaceChildren(el("span", {}, `${words} What you send is kept and goes out as soon as the connection is back.`));
  }

  /** @param {State} state */
  #stopped(state) {
    if (state === "replaced") {
      const button = el("button", { class: "button button-small", type: "button", "data-use-here": true }, "Use it here");
      button.addEventListener("click", () => location.reload());
      this.bar.replaceChildren(el("span", {}, "Chat is open elsewhere. What you were writing is kept in this browser."), button);
    } else if (state === "signed-out") {
      const back = `/accounts/login/?next=${encodeURIComponent(location.pathname)}`;
      this.bar.replaceChildren(el("span", {}, "You are signed out. What you were writing is kept in this browser."), el("a", { class: "button button-small", href: back }, "Sign in"));
    } else {
      const button = el("button", { class: "button button-small", type: "button" }, "Reload");
      button.addEventListener("click", () => location.reload());
      this.bar.replaceChildren(el("span", {}, "This page is older than the server."), button);
    }
  }
}
