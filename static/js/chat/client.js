/*
 * The client of the chat protocol: applies events in their order, acknowledges them in bundles, empties the outbox, and
 * tells the page what changed. It draws nothing.
 */
import { newKey } from "../api.js";
import { Connection } from "./connection.js";
import { Inbox } from "./inbox.js";
import { Outbox } from "./outbox.js";
import { outboxStore } from "./outbox_store.js";

/** @typedef {import("./connection.js").Frame} Frame */
/** @typedef {import("./connection.js").State} State */
/** @typedef {import("./messages.js").Message} Message */
/** @typedef {import("./outbox.js").Waiting} Waiting */
/**
 * @typedef {{
 *   onState?: (state: State) => void, onMessage?: (message: Message, kind: string) => void,
 *   onSent?: (answer: Frame, waiting: Waiting | undefined) => void, onWaiting?: (waiting: Waiting, gone: boolean) => void,
 *   onReceipt?: (receipt: Frame) => void, onTyping?: (typing: Frame) => void, onPresence?: (people: any[]) => void,
 *   onUnread?: (unread: {conversation: string, count: number, muted: boolean}[]) => void, onReset?: () => void, onDrained?: () => void,
 *   peers: () => string[],
 * }} Hooks
 */

const ACK_MS = 250;
const ACK_EVENTS = 50;
const ANSWER_WITHIN_MS = 10_000;
const TYPING_EVERY_MS = 3000;

/** The same for all pages of a tab: going from one to the next is no other device. */
function pageId() {
  const fresh = uuid();
  try {
    const known = sessionStorage.getItem("chat-page");
    if (!known) sessionStorage.setItem("chat-page", fresh);
    return known ?? fresh;
  } catch {
    return fresh;
  }
}

/** An id in the form with hyphens, also where there is no randomUUID. */
export function uuid() {
  const key = newKey();
  if (key.includes("-")) return key;
  const [a, b, c, d, e] = [key.slice(0, 8), key.slice(8, 12), `4${key.slice(13, 16)}`, `a${key.slice(17, 20)}`, key.slice(20)];
  return [a, b, c, d, e].join("-");
}

export class ChatClient {
  /**
   * @param {string} person
   * @param {Hooks} hooks
   */
  constructor(person, hooks) {
    this.hooks = hooks;
    this.inbox = new Inbox();
    this.gen = 0;
    this.unacknowledged = 0;
    this.caughtUp = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.ackTimer = undefined;
    this.typedAt = 0;
    /** @type {Map<string, {resolve: (message: Message) => void, reject: (error: Error) => void, timer: ReturnType<typeof setTimeout>}>} */
    this.questions = new Map();
    this.outbox = new Outbox(outboxStore(person), {
      send: ({ id, conversation, body }) => this.connection.send({ type: "send", id, conversation, body }),
      onChange: (waiting, gone) => hooks.onWaiting?.(waiting, gone),
    });
    this.connection = new Connection({
      page: pageId(),
      have: () => this.inbox.have,
      peers: hooks.peers,
      onFrame: (frame) => this.#hear(frame),
      onState: (state) => this.#stateChanged(state),
    });
  }

  async start() {
    await this.outbox.load();
    this.connection.open();
  }

  /** @param {string} conversation @param {string} body */
  say(conversation, body) {
    return this.outbox.add({ id: uuid(), conversation, body });
  }

  /**
   * @param {string} message
   * @param {string} body
   * @returns {Promise<Message>} rejected with a sentence when it did not happen
   */
  edit(message, body) {
    return this.#ask({ type: "edit", message, body });
  }

  /** @param {string} message @returns {Promise<Message>} */
  delete(message) {
    return this.#ask({ type: "delete", message });
  }

  /** @param {string} conversation @param {number} upto */
  read(conversation, upto) {
    return this.connection.send({ type: "read", conversation, upto });
  }

  /** @param {string} conversation */
  typing(conversation) {
    if (Date.now() - this.typedAt < TYPING_EVERY_MS) return;
    this.typedAt = Date.now();
    this.connection.send({ type: "typing", conversation });
  }

  /** @param {Record<string, string>} frame @returns {Promise<Message>} */
  #ask(frame) {
    const id = uuid();
    return new Promise((resolve, reject) => {
      const giveUp = () => this.#answer(id, new Error("The server cannot be reached. Nothing was changed as far as this page knows; try again."));
      const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
      this.questions.set(id, { resolve, reject, timer });
      if (!this.connection.send({ ...frame, id })) giveUp();
    });
  }

  /** @param {string} id @param {Message | Error} result @returns {boolean} whether somebody waited for it */
  #answer(id, result) {
    const question = this.questions.get(id);
    if (!question) return false;
    this.questions.delete(id);
    clearTimeout(question.timer);
    if (result instanceof Error) question.reject(result);
    else question.resolve(result);
    return true;
  }

  /** @param {State} state */
  #stateChanged(state) {
    if (state !== "live") {
      this.outbox.stop();
      clearTimeout(this.ackTimer);
    }
    this.hooks.onState?.(state);
  }

  /** @param {Frame} frame */
  #hear(frame) {
    const heard = /** @type {Record<string, (frame: Frame) => void>} */ (this.#readers)[frame.type];
    heard?.(frame);
  }

  #readers = {
    welcome: (/** @type {Frame} */ { gen, base, unread }) => {
      this.gen = gen;
      this.inbox.begin(base);
      this.caughtUp = false;
      void this.outbox.load().then(() => this.connection.state === "live" && this.outbox.start());
      this.hooks.onUnread?.(unread);
    },
    reset: (/** @type {Frame} */ { base }) => {
      this.inbox.reset(base);
      this.hooks.onReset?.();
    },
    page: (/** @type {Frame} */ { events }) => {
      for (const event of events) this.#apply(event, this.inbox.takeFromPage(event.inbox_seq));
      this.#acknowledge();
    },
    drained: () => {
      this.caughtUp = true;
      this.hooks.onDrained?.();
    },
    pong: (/** @type {Frame} */ { upto }) => {
      // Frames keep their order: what the server sent before is here, or lost on the way.
      if (this.caughtUp && this.inbox.have !== null && upto > this.inbox.have) this.connection.again();
    },
    event: (/** @type {Frame} */ event) => this.#apply(/** @type {any} */ (event), this.inbox.take(event.inbox_seq)),
    sent: (/** @type {Frame} */ answer) => {
      const waiting = this.outbox.entries.find(({ id }) => id === answer.id);
      this.hooks.onSent?.(answer, waiting);
      void this.outbox.sent(answer.id);
    },
    changed: (/** @type {Frame} */ { id, message }) => {
      this.hooks.onMessage?.(message, "own");
      this.#answer(id, message);
    },
    failed: (/** @type {Frame} */ { id, code, message, kept, next, permanent, retry_after_s }) => {
      const words = [message, kept, next].filter(Boolean).join(" ");
      // Who took over sends it: the outbox is the browser's, not the page's.
      if (this.#answer(id, new Error(words)) || code === "replaced") return;
      void this.outbox.failed(id, { message: words, permanent, retryAfterS: retry_after_s });
    },
    own: (/** @type {Frame} */ { message }) => this.hooks.onMessage?.(message, "own"),
    receipt: (/** @type {Frame} */ receipt) => this.hooks.onReceipt?.(receipt),
    typing: (/** @type {Frame} */ typing) => this.hooks.onTyping?.(typing),
    presence: (/** @type {Frame} */ { people }) => this.hooks.onPresence?.(people),
  };

  /**
   * @param {{kind: string, message: Message}} event
   * @param {"next" | "seen" | "gap" | "jump"} verdict
   */
  #apply({ kind, message }, verdict) {
    if (verdict === "seen") return;
    if (verdict === "gap") {
      this.connection.again();
      return;
    }
    if (verdict === "jump") this.hooks.onReset?.();
    this.hooks.onMessage?.(message, kind);
    this.unacknowledged += 1;
    if (this.unacknowledged >= ACK_EVENTS) this.#acknowledge();
    else if (this.unacknowledged === 1) this.ackTimer = setTimeout(() => this.#acknowledge(), ACK_MS);
  }

  #acknowledge() {
    clearTimeout(this.ackTimer);
    this.unacknowledged = 0;
    this.connection.send({ type: "ack", upto: this.inbox.have, gen: this.gen });
  }
}
