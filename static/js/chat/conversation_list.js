/* The list of conversations while things happen: last line, order, unread, who is online. */
import { callText } from "../api.js";
import { one } from "../dom.js";
import { paintTime } from "../time.js";
import { REFERENCE_WORDS } from "./card.js";
import { countWords, showUnread } from "./unread.js";

/** @typedef {import("./messages.js").Message} Message */

const LINE = 120;

/** @param {Message} message */
export function lineOf({ body, reference }) {
  return [...(body || (reference ? REFERENCE_WORDS[reference.kind] : ""))].slice(0, LINE).join("").replace(/\s+/g, " ");
}

export class ConversationList {
  /** @param {string} me */
  constructor(me) {
    this.me = me;
    /** @type {Map<string, {count: number, muted: boolean}>} */
    this.unread = new Map();
  }

  /** @param {string} conversation @returns {HTMLElement | null} */
  row(conversation) {
    return document.querySelector(`[data-conversations] [data-conversation="${conversation}"]`);
  }

  /** The people on the screen, for the question who is here. */
  peers() {
    return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-conversations] [data-peer]"))].map(({ dataset }) => dataset.peer ?? "");
  }

  /** @param {{conversation: string, count: number, muted: boolean}[]} unread */
  setUnread(unread) {
    this.unread = new Map(unread.map(({ conversation, count, muted }) => [conversation, { count, muted }]));
    for (const row of document.querySelectorAll("[data-conversations] [data-conversation]")) this.#paintUnread(row.getAttribute("data-conversation") ?? "");
    this.#total();
  }

  /** @param {string} conversation @param {number} by */
  addUnread(conversation, by) {
    const muted = this.unread.get(conversation)?.muted ?? this.row(conversation)?.hasAttribute("data-muted") ?? false;
    this.unread.set(conversation, { count: (this.unread.get(conversation)?.count ?? 0) + by, muted });
    this.#paintUnread(conversation);
    this.#total();
  }

  /** @param {string} conversation */
  clearUnread(conversation) {
    if (!this.unread.delete(conversation)) return;
    this.#paintUnread(conversation);
    this.#total();
  }

  #total() {
    showUnread([...this.unread.values()].reduce((sum, { count, muted }) => sum + (muted ? 0 : count), 0));
  }

  /** @param {string} conversation */
  #paintUnread(conversation) {
    const mark = this.row(conversation)?.querySelector("[data-row-unread]");
    if (!(mark instanceof HTMLElement)) return;
    const count = this.unread.get(conversation)?.count ?? 0;
    mark.hidden = count === 0;
    one("[data-count]", mark).textContent = countWords(count);
  }

  /** @param {Message} message a new one, or the last one changed */
  async tell(message) {
    const row = this.row(message.conversation) ?? (await this.#fetchRow(message.conversation));
    if (!row) return;
    const time = one("[data-row-time]", row, HTMLTimeElement);
    if (time.dateTime && new Date(time.dateTime) > new Date(message.created_at)) return;
    const text = message.deleted ? "Message deleted" : lineOf(message);
    one("[data-row-last]", row).textContent = (message.sender === this.me ? "You: " : "") + text;
    time.dateTime = message.created_at;
    time.dataset.relative = "";
    time.hidden = false;
    paintTime(time);
    // Moving a row takes the focus from the link inside it.
    if (row.previousElementSibling && !row.contains(document.activeElement)) row.parentElement?.prepend(row);
  }

  /* Somebody wrote for the first time: the list as the server draws it has the row. */
  async #fetchRow(/** @type {string} */ conversation) {
    const list = document.querySelector("[data-conversations]");
    const text = await callText("/chat/").catch(() => "");
    const page = new DOMParser().parseFromString(text, "text/html");
    const found = page.querySelector(`[data-conversations] [data-conversation="${conversation}"]`);
    if (!list && found) location.reload();
    if (!list || !(found instanceof HTMLElement) || this.row(conversation)) return this.row(conversation);
    const row = document.adoptNode(found);
    list.prepend(row);
    this.#paintUnread(conversation);
    return row;
  }

  /** The list as the server draws it now, where events no longer tell how it came to be. */
  async refresh() {
    const page = new DOMParser().parseFromString(await callText(location.pathname), "text/html");
    const rows = [...page.querySelectorAll("[data-conversations] > li")].map((row) => document.adoptNode(row));
    document.querySelector("[data-conversations]")?.replaceChildren(...rows);
    for (const row of rows) this.#paintUnread(row.getAttribute("data-conversation") ?? "");
    document.querySelectorAll("[data-conversations] time[data-relative]").forEach((time) => paintTime(/** @type {HTMLTimeElement} */ (time)));
  }

  /** Without a connection nobody knows who is here. */
  forgetPresence() {
    for (const mark of document.querySelectorAll("[data-conversations] [data-presence]")) /** @type {HTMLElement} */ (mark).hidden = true;
  }

  /** @param {{id: string, online: boolean}[]} people */
  showPresence(people) {
    for (const { id, online } of people) {
      const mark = document.querySelector(`[data-conversations] [data-peer="${id}"] [data-presence]`);
      if (mark instanceof HTMLElement) mark.hidden = !online;
    }
  }
}
