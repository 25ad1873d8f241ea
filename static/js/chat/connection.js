/*
 * The socket to the server: says hello, notices silence, comes back with growing pauses, and stays away where coming
 * back would be wrong (signed out, taken over by another page).
 */
import { isFinal, STABLE_MS, waitBefore } from "./backoff.js";

/** @typedef {"connecting" | "live" | "waiting" | "replaced" | "signed-out" | "refused"} State */
/** @typedef {{type: string} & Record<string, any>} Frame */

const PROTOCOL = 1;
const PING_MS = 25_000;
const SILENT_MS = 35_000;
const OFFLINE_MS = 30_000;
const SIGNED_OUT = 4401;
const REPLACED = 4409;
/** Of ours: the stream has a hole, or the server is silent. */
const LEAVES = 4000;

export class Connection {
  /**
   * @param {{page: string, have: () => number | null, peers: () => string[], onFrame: (frame: Frame) => void, onState: (state: State) => void}} hooks
   */
  constructor(hooks) {
    this.hooks = hooks;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {State} */
    this.state = "connecting";
    this.attempt = 0;
    this.heardAt = 0;
    this.liveAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.pinging = undefined;
    window.addEventListener("online", () => this.#hurry());
    // Without a network nobody answers the closing handshake, which would be waited for a minute.
    window.addEventListener("offline", () => this.socket && this.#closed(LEAVES));
    document.addEventListener("visibilitychange", () => !document.hidden && this.#hurry());
    window.addEventListener("pagehide", () => this.#leave());
    window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  }

  open() {
    clearTimeout(this.timer);
    this.#become("connecting");
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/chat/`);
    this.socket = socket;
    this.heardAt = Date.now();
    socket.addEventListener("open", () => {
      this.heardAt = Date.now();
      this.send({ type: "hello", protocol: PROTOCOL, page: this.hooks.page, have: this.hooks.have() });
    });
    socket.addEventListener("message", ({ data }) => this.socket === socket && this.#hear(JSON.parse(data)));
    socket.addEventListener("close", ({ code }) => this.socket === socket && this.#closed(code));
    this.#watch();
  }

  /**
   * @param {Record<string, unknown>} frame
   * @returns {boolean} whether it could be handed over; arriving is another matter
   */
  send(frame) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** Begins anew: the server starts from what this page has. */
  again() {
    this.socket?.close(LEAVES);
  }

  /** Asks who is here, and shows that this page is. */
  ping() {
    this.send({ type: "ping", have: this.hooks.have(), peers: this.hooks.peers() });
  }

  /** @param {Frame} frame */
  #hear(frame) {
    this.heardAt = Date.now();
    if (frame.type === "probe") this.ping();
    if (frame.type === "welcome") {
      this.liveAt = Date.now();
      this.#become("live");
    }
    this.hooks.onFrame(frame);
    if (frame.type === "welcome") this.ping();
  }

  /* A connection can be dead without anybody having said so. */
  #watch() {
    clearTimeout(this.pinging);
    this.pinging = setTimeout(
      () => {
        if (Date.now() - this.heardAt > SILENT_MS) {
          // The closing handshake of a dead connection would be waited for.
          this.#closed(LEAVES);
          return;
        }
        if (this.state === "live") this.ping();
        this.#watch();
      },
      PING_MS * (0.8 + 0.4 * Math.random()),
    );
  }

  /** @param {number} code */
  #closed(code) {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    clearTimeout(this.pinging);
    if (isFinal(code)) {
      this.#become(code === REPLACED ? "replaced" : code === SIGNED_OUT ? "signed-out" : "refused");
      return;
    }
    if (this.liveAt && Date.now() - this.liveAt > STABLE_MS) this.attempt = 0;
    this.liveAt = 0;
    const wait = code === LEAVES && this.attempt === 0 ? 0 : waitBefore(this.attempt, code);
    this.attempt += 1;
    this.#become("waiting");
    this.timer = setTimeout(() => this.#retry(), wait);
  }

  /* Without a network an attempt can only fail; the browser says when it is back. Some say so wrongly, hence the poll. */
  #retry() {
    if (navigator.onLine) this.open();
    else this.timer = setTimeout(() => this.open(), OFFLINE_MS);
  }

  #hurry() {
    if (this.state === "waiting") this.open();
    else if (this.state === "live") this.ping();
  }

  #leave() {
    clearTimeout(this.timer);
    clearTimeout(this.pinging);
    const socket = this.socket;
    this.socket = null;
    // The browser itself gives up an attempt; closed by us it would complain.
    if (socket?.readyState === WebSocket.OPEN) socket.close(1000);
  }

  /** @param {State} state */
  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.hooks.onState(state);
  }
}
