/*
 * What was submitted and not acknowledged. Each message is kept before it is sent; one is under way in a conversation
 * at a time, so the order of submitting is the order of arriving; a retry has the same id, so it arrives once.
 */

/**
 * @typedef {{
 *   id: string, conversation: string, body: string, place: number, at: string, problem: string,
 * }} Waiting problem: why it will not be sent again by itself, "" if it will
 */
/**
 * @typedef {{all: () => Promise<Waiting[]>, put: (waiting: Waiting) => Promise<void>, remove: (id: string) => Promise<void>}} Store
 */

const ANSWER_WITHIN_MS = 10_000;
const AGAIN_MS = 1000;

export class Outbox {
  /**
   * @param {Store} store
   * @param {{send: (waiting: Waiting) => void, onChange: (waiting: Waiting, gone: boolean) => void}} hooks
   */
  constructor(store, { send, onChange }) {
    this.store = store;
    this.send = send;
    this.onChange = onChange;
    /** @type {Waiting[]} */
    this.entries = [];
    /** Ids that the store has: what is not kept yet is not sent. @type {Set<string>} */
    this.kept = new Set();
    /** Conversation to the message that is under way there. @type {Map<string, {id: string, timer: ReturnType<typeof setTimeout>}>} */
    this.flights = new Map();
    this.open = false;
  }

  /** Brings back what an earlier page, or another tab until it was replaced, did not get rid of. */
  async load() {
    const before = await this.store.all().catch(() => []);
    const known = new Set(this.entries.map(({ id }) => id));
    const found = before.filter(({ id }) => !known.has(id));
    this.entries = [...found, ...this.entries].sort((a, b) => a.place - b.place);
    for (const entry of found) {
      this.kept.add(entry.id);
      this.onChange(entry, false);
    }
    this.#pump();
  }

  /** @param {{id: string, conversation: string, body: string}} message */
  async add(message) {
    const place = (this.entries.at(-1)?.place ?? 0) + 1;
    const entry = { ...message, place, at: new Date().toISOString(), problem: "" };
    this.entries.push(entry);
    this.onChange(entry, false);
    // A browser without a store still sends; it only forgets at a reload.
    await this.store.put(entry).catch(() => {});
    this.kept.add(entry.id);
    this.#pump();
  }

  /** The connection stands: what waits goes. */
  start() {
    this.open = true;
    this.#pump();
  }

  /** It is gone. What was under way may have arrived; its id will tell. */
  stop() {
    this.open = false;
    for (const { timer } of this.flights.values()) clearTimeout(timer);
    this.flights.clear();
  }

  /** @param {string} id @returns {Promise<void>} */
  async sent(id) {
    await this.#drop(id);
  }

  /**
   * @param {string} id
   * @param {{message: string, permanent: boolean, retryAfterS?: number}} refusal
   */
  async failed(id, { message, permanent, retryAfterS }) {
    const entry = this.entries.find((item) => item.id === id);
    if (!entry) return;
    this.#land(entry);
    if (permanent) {
      entry.problem = message;
      this.onChange(entry, false);
      await this.store.put(entry).catch(() => {});
      this.#pump();
    } else {
      // The place in line is kept: who is behind waits, too.
      const timer = setTimeout(() => this.#again(entry), (retryAfterS ?? 0) * 1000 || AGAIN_MS);
      this.flights.set(entry.conversation, { id, timer });
    }
  }

  /** @param {string} id */
  async retry(id) {
    const entry = this.entries.find((item) => item.id === id);
    if (!entry) return;
    entry.problem = "";
    this.onChange(entry, false);
    await this.store.put(entry).catch(() => {});
    this.#pump();
  }

  /** @param {string} id */
  async discard(id) {
    await this.#drop(id);
  }

  /** @param {string} id */
  async #drop(id) {
    const entry = this.entries.find((item) => item.id === id);
    if (!entry) return;
    this.entries = this.entries.filter((item) => item !== entry);
    this.#land(entry);
    this.onChange(entry, true);
    this.#pump();
    await this.store.remove(id).catch(() => {});
  }

  /** @param {Waiting} entry */
  #land(entry) {
    const flight = this.flights.get(entry.conversation);
    if (flight?.id !== entry.id) return;
    clearTimeout(flight.timer);
    this.flights.delete(entry.conversation);
  }

  /** @param {Waiting} entry */
  #again(entry) {
    this.#land(entry);
    this.#pump();
  }

  #pump() {
    if (!this.open) return;
    /** @type {Set<string>} */
    const waiting = new Set();
    for (const entry of this.entries) {
      if (entry.problem || waiting.has(entry.conversation) || this.flights.has(entry.conversation)) continue;
      waiting.add(entry.conversation);
      if (!this.kept.has(entry.id)) continue;
      // An answer that does not come: the same id again.
      const timer = setTimeout(() => this.#again(entry), ANSWER_WITHIN_MS);
      this.flights.set(entry.conversation, { id: entry.id, timer });
      this.send(entry);
    }
  }
}
