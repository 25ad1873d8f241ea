/* The open conversation: messages and what waits, in order, with the days between; it keeps its place when it grows. */
import { call } from "../api.js";
import { el, one } from "../dom.js";
import { toastError } from "../toast.js";
import { dayOf, dayWords } from "./days.js";
import { messageRow, paintMark, waitingRow } from "./message_view.js";
import { markOf, Messages } from "./messages.js";

/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./outbox.js").Waiting} Waiting */
/**
 * @typedef {{
 *   me: string, conversation: string, peer: {id: string, name: string}, muted: boolean, blocked: boolean, readSeq: number,
 *   peerDeliveredSeq: number, peerReadSeq: number, messages: Message[], older: number, cards: string, before: number | null,
 * }} Page
 */

const NEAR_PX = 80;

export class Thread {
  /**
   * @param {Page} page
   * @param {AbortSignal} closed when another conversation takes the place
   */
  constructor(page, closed) {
    this.page = page;
    this.messages = new Messages();
    /** @type {Map<string, Waiting>} */
    this.waiting = new Map();
    this.peer = { delivered: page.peerDeliveredSeq, read: page.peerReadSeq };
    this.older = page.older;
    /** The last message that was there when the page opened. */
    this.unreadUpto = page.messages.at(-1)?.seq ?? 0;
    this.list = one("[data-thread]", document, HTMLElement);
    this.scroller = one("[data-scroll]", document, HTMLElement);
    this.jump = one("[data-jump]", document, HTMLElement);
    /** Rows by id of message, of what waits, and of day. @type {Map<string, {row: HTMLElement, version: number}>} */
    this.rows = new Map();
    this.fetching = false;
    /** Whether the end is what somebody looks at, also when it moves. */
    this.stays = true;
    for (const message of page.messages) this.messages.put(message);
    this.draw();
    this.toEnd();
    this.#bind(closed);
  }

  /** @param {AbortSignal} closed */
  #bind(closed) {
    this.jump.addEventListener("click", () => this.toEnd());
    this.scroller.addEventListener("scroll", () => {
      this.stays = this.atEnd;
      if (this.stays) this.jump.hidden = true;
    });
    one("[data-older-link]").addEventListener("click", (event) => {
      event.preventDefault();
      void this.fetchOlder();
    });
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void this.fetchOlder(), {
      root: this.scroller,
      rootMargin: "400px 0px 0px",
    }).observe(one("[data-older]"));
    // The keyboard of a phone, or a composer that grows, takes from the end; a card that was drawn adds to it.
    const resized = new ResizeObserver(() => this.stays && this.toEnd());
    resized.observe(this.scroller);
    resized.observe(this.list);
    // Midnight passes while nobody looks.
    document.addEventListener("visibilitychange", () => !document.hidden && this.draw(), { signal: closed });
  }

  get atEnd() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < NEAR_PX;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.jump.hidden = true;
  }

  /**
   * @param {Message} message
   * @returns {"new" | "changed" | "known"}
   */
  put(message) {
    // An earlier part of the history ends before the newest: what is new would stand behind a hole.
    if (this.page.before && message.seq >= this.page.before) return "known";
    const verdict = this.messages.put(message);
    if (verdict === "known") return verdict;
    const own = message.sender === this.page.me;
    this.#keepPlace(() => this.draw(), verdict === "new" && own);
    if (verdict === "new" && !own && !this.atEnd) this.jump.hidden = false;
    return verdict;
  }

  /** @param {Waiting} waiting @param {boolean} gone */
  wait(waiting, gone) {
    if (gone) this.waiting.delete(waiting.id);
    else this.waiting.set(waiting.id, { ...waiting });
    this.rows.delete(waiting.id);
    this.#keepPlace(() => this.draw(), !gone && !waiting.problem);
  }

  /** @param {{delivered_upto: number, read_upto: number}} receipt */
  mark({ delivered_upto: delivered, read_upto: read }) {
    this.peer = { delivered: Math.max(this.peer.delivered, delivered), read: Math.max(this.peer.read, read) };
    for (const message of this.messages.ordered) {
      const known = message.sender === this.page.me ? this.rows.get(message.id) : undefined;
      if (known) paintMark(known.row, markOf(message.seq, this.peer));
    }
  }

  /** Reads the page of the history before the first message. */
  async fetchOlder() {
    if (this.fetching || !this.older) return;
    this.fetching = true;
    // What came before is not news: nothing of it is read out.
    this.scroller.setAttribute("aria-busy", "true");
    try {
      const { results, next } = await call(`${this.#address}/messages?before=${this.older}`);
      this.older = next ? results.at(-1).seq : 0;
      const before = this.scroller.scrollHeight;
      const top = this.scroller.scrollTop;
      for (const message of results) this.messages.put(message);
      this.draw();
      this.scroller.scrollTop = top + this.scroller.scrollHeight - before;
    } catch (error) {
      toastError(error);
    }
    this.scroller.removeAttribute("aria-busy");
    this.fetching = false;
  }

  /** What the events no longer tell is in the history. */
  async refresh() {
    const [history, place] = await Promise.all([call(`${this.#address}/messages?limit=100`), call(this.#address)]);
    for (const message of history.results.reverse()) this.put(message);
    this.mark({ delivered_upto: place.peer_delivered_seq, read_upto: place.peer_read_seq });
  }

  get #address() {
    return `chat/conversations/${this.page.conversation}`;
  }

  /** @param {() => void} change @param {boolean} follow whether to go to the end in any case */
  #keepPlace(change, follow) {
    const stays = follow || this.atEnd;
    change();
    if (stays) this.toEnd();
  }

  draw() {
    one("[data-older]", document, HTMLElement).hidden = !this.older;
    const wanted = this.#wantedRows();
    let place = this.list.firstChild;
    for (const row of wanted) {
      if (row === place) place = place.nextSibling;
      else this.list.insertBefore(row, place);
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  }

  /** @returns {HTMLElement[]} */
  #wantedRows() {
    /** @type {HTMLElement[]} */
    const rows = [];
    const today = dayOf(new Date());
    const arrived = new Set();
    let day = "";
    const news = this.#firstUnread();
    for (const message of this.messages.ordered) {
      const its = dayOf(new Date(message.created_at));
      if (its !== day) rows.push(this.#dayRow(its, today));
      day = its;
      if (message === news) rows.push(this.#row("new", 0, () => el("li", { class: "thread-new" }, "New")));
      arrived.add(message.client_msg_id);
      rows.push(this.#messageRow(message));
    }
    const waiting = [...this.waiting.values()].filter(({ id }) => !arrived.has(id)).sort((a, b) => a.place - b.place);
    if (waiting.length > 0 && day !== today) rows.push(this.#dayRow(today, today));
    for (const item of waiting) rows.push(this.#row(item.id, 0, () => waitingRow(item)));
    if (rows.length === 0) rows.push(this.#row("empty", 0, () => el("li", { class: "thread-note" }, "This is the beginning. Only the two of you can read it.")));
    return rows;
  }

  /* What was unread when the page opened; an answer is the sign that it has been read. */
  #firstUnread() {
    const { me, readSeq, before } = this.page;
    const first = this.messages.ordered.find(({ seq, sender }) => sender !== me && seq > readSeq);
    if (before || !first || first.seq > this.unreadUpto) return undefined;
    return this.messages.ordered.some(({ seq, sender }) => sender === me && seq > first.seq) ? undefined : first;
  }

  /** @param {Message} message */
  #messageRow(message) {
    const own = message.sender === this.page.me;
    const mark = markOf(message.seq, this.peer);
    return this.#row(message.id, message.version, () => messageRow(message, { own, name: this.page.peer.name, mark, cards: this.page.cards }));
  }

  /** @param {string} day @param {string} today */
  #dayRow(day, today) {
    const words = dayWords(day, today);
    return this.#row(`${day} ${words}`, 0, () => el("li", { class: "thread-day", "data-day": day }, el("time", { datetime: day }, words)));
  }

  /** @param {string} key @param {number} version @param {() => HTMLElement} make */
  #row(key, version, make) {
    const known = this.rows.get(key);
    if (known && known.version === version) return known.row;
    const row = make();
    this.rows.set(key, { row, version });
    return row;
  }
}
