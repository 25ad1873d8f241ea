/* The line under the name: typing, online, or when the person was last here. */
import { el, one } from "../dom.js";
import { timeElement } from "../time.js";

const TYPING_MS = 6000;

export class PeerState {
  constructor() {
    this.line = one("[data-peer-state]", document, HTMLElement);
    /** @type {{online: boolean, last_seen: string | null} | null} */
    this.known = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {{online: boolean, last_seen: string | null}} presence */
  show(presence) {
    this.known = presence;
    if (this.timer === undefined) this.#draw();
  }

  /** Without a connection nobody knows. */
  forget() {
    this.known = null;
    this.stopTyping();
  }

  typing() {
    clearTimeout(this.timer);
    this.line.replaceChildren("typing…");
    this.timer = setTimeout(() => this.stopTyping(), TYPING_MS);
  }

  stopTyping() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.#draw();
  }

  #draw() {
    if (!this.known) this.line.replaceChildren();
    else if (this.known.online) this.line.replaceChildren(el("span", { class: "presence", "aria-hidden": "true" }), "online");
    else if (this.known.last_seen) this.line.replaceChildren("last seen ", timeElement(this.known.last_seen));
    else this.line.replaceChildren("offline");
  }
}
