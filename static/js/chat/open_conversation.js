/* The conversation on the screen: its thread, its composer, its peer, and what of it has been read. */
import { one } from "../dom.js";
import { place } from "../library/row_menu.js";
import { Composer } from "./composer.js";
import { canEdit, MessageActions } from "./message_actions.js";
import { PeerState } from "./peer_state.js";
import { Thread } from "./thread.js";

/** @typedef {import("./client.js").ChatClient} ChatClient */
/** @typedef {import("./connection.js").State} State */
/** @typedef {import("./connection.js").Frame} Frame */
/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./thread.js").Page} Page */

export class OpenConversation {
  /**
   * @param {Page} page
   * @param {ChatClient} client
   * @param {{onRead: (conversation: string) => void, toNewest: (conversation: string) => void}} hooks
   */
  constructor(page, client, hooks) {
    this.page = page;
    this.client = client;
    this.hooks = hooks;
    this.read = page.readSeq;
    this.closing = new AbortController();
    this.thread = new Thread(page, this.closing.signal);
    this.peer = new PeerState();
    this.composer = this.#makeComposer();
    this.#bind();
    for (const waiting of client.outbox.entries) this.wait(waiting, false);
    this.allow(client.connection.state);
  }

  get id() {
    return this.page.conversation;
  }

  /** Another one takes its place. */
  close() {
    this.closing.abort();
    this.peer.forget();
  }

  #makeComposer() {
    const { client, page, thread } = this;
    return new Composer(page.conversation, {
      onSend: async (text) => {
        await client.say(page.conversation, text);
        // An earlier part of the history has no place for it; it goes out, and is seen with the newest.
        if (page.before) this.hooks.toNewest(page.conversation);
      },
      onEdit: async (message, text) => void (await client.edit(message.id, text)),
      onTyping: () => client.typing(page.conversation),
      lastOwn: () => thread.messages.ordered.findLast((message) => canEdit(message, page.me)),
    });
  }

  #bind() {
    const { client, composer, thread } = this;
    new MessageActions(thread, { edit: (message) => composer.edit(message), remove: (message) => client.delete(message.id) });
    thread.list.addEventListener("click", (event) => this.#actOnWaiting(/** @type {Element} */ (event.target)));
    const menu = one("[data-chat-menu]", document, HTMLElement);
    menu.addEventListener("toggle", () => place(menu, one("[data-chat-menu-button]", document, HTMLElement)));
    const { signal } = this.closing;
    window.addEventListener("focus", () => this.markRead(), { signal });
    thread.scroller.addEventListener("scroll", () => this.markRead(), { signal });
    document.addEventListener("visibilitychange", () => this.markRead(), { signal });
  }

  /** @param {Element} target */
  #actOnWaiting(target) {
    const button = target.closest("[data-waiting-action]");
    const id = button?.closest("[data-waiting]")?.getAttribute("data-waiting") ?? "";
    const waiting = this.thread.waiting.get(id);
    const action = button?.getAttribute("data-waiting-action");
    if (!waiting) return;
    if (action === "retry") void this.client.outbox.retry(id);
    if (action === "edit") this.composer.bring(waiting.body);
    if (action === "edit" || action === "discard") void this.client.outbox.discard(id);
  }

  /** Says what has been read: what is on the screen of somebody who looks at it. */
  markRead() {
    const last = this.thread.messages.last;
    if (this.page.before || !last || last.seq <= this.read || document.hidden || !document.hasFocus() || !this.thread.atEnd) return;
    if (!this.client.read(this.id, last.seq)) return;
    this.read = last.seq;
    this.hooks.onRead(this.id);
  }

  /**
   * @param {Message} message
   * @param {string} kind
   * @returns {"new" | "changed" | "known"}
   */
  put(message, kind) {
    const verdict = this.thread.put(message);
    if (verdict !== "known" && kind === "message" && message.sender !== this.page.me) {
      this.peer.stopTyping();
      this.markRead();
    }
    return verdict;
  }

  /** @param {import("./outbox.js").Waiting} waiting @param {boolean} gone */
  wait(waiting, gone) {
    if (waiting.conversation === this.id) this.thread.wait(waiting, gone);
  }

  /** @param {Frame} receipt */
  mark(receipt) {
    if (receipt.conversation !== this.id) return;
    this.thread.mark(/** @type {any} */ (receipt));
    this.#askWhetherHere();
  }

  /** @param {Frame} typing */
  hearTyping(typing) {
    if (typing.conversation !== this.id) return;
    this.peer.typing();
    this.#askWhetherHere();
  }

  /* Somebody who reads or types is here, and need not wait for the next ping to be shown so. */
  #askWhetherHere() {
    if (!this.peer.known?.online) this.client.connection.ping();
  }

  /** @param {any[]} people */
  showPresence(people) {
    const shown = people.find(({ id }) => id === this.page.peer.id);
    if (shown) this.peer.show(shown);
  }

  /** @param {State} state */
  allow(state) {
    if (state !== "live") this.peer.forget();
    this.composer.allow(state !== "replaced" && state !== "signed-out");
  }
}
