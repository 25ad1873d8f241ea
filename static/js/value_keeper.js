/*
 * Keeps the values of an open prompt for the person: on the server after a pause, name by name, so that two tabs do not
 * overwrite each other; in this browser what the server does not have yet.
 */
import { ApiError, call } from "./api.js";
import { dropNotice, notice } from "./notices.js";

const QUIET_MS = 800;
const AGAIN_MS = 15_000;
/** Characters in one call, beside the first value: each may be large, and a request has a limit. */
const ONE_CALL = 1_000_000;
/** The call itself was wrong: it would be refused again. */
const REFUSED = [400, 404, 413, 422];
/** Browsers send no more than this after the page is gone. */
const KEEPALIVE_BYTES = 60_000;

/** @typedef {Record<string, string | null>} Changes null: the value was taken away */

/**
 * As many changes as one call takes, and the rest.
 * @param {Changes} changes
 * @returns {[Changes, Changes]}
 */
export function portion(changes) {
  let room = ONE_CALL;
  const entries = Object.entries(changes);
  const end = entries.findIndex(([, value], index) => {
    room -= (value ?? "").length;
    return room < 0 && index > 0;
  });
  const most = end < 0 ? entries.length : end;
  return [Object.fromEntries(entries.slice(0, most)), Object.fromEntries(entries.slice(most))];
}

/**
 * What may be sent again of a call that was refused for one of its values.
 * @param {Changes} sent
 * @param {string} field what the server named: "values.name", or something else for the whole
 * @returns {[Changes, Changes]} what was refused, and the rest
 */
export function withoutRefused(sent, field) {
  const name = field.startsWith("values.") ? field.slice("values.".length) : "";
  if (!Object.hasOwn(sent, name)) return [sent, {}];
  const rest = Object.entries(sent).filter(([other]) => other !== name);
  return [{ [name]: sent[name] }, Object.fromEntries(rest)];
}

/* What the server does not have yet, in this browser. Tabs of one person share it, so each writes only its own names. */
export class UnsentValues {
  /**
   * @param {string} promptId
   * @param {string} [person]
   */
  constructor(promptId, person = document.documentElement.dataset.user ?? "") {
    this.key = `values:${person}:${promptId}`;
  }

  /** @returns {Changes} */
  read() {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "{}");
    } catch {
      return {};
    }
  }

  /** @param {Changes} changes @returns {boolean} whether they could be kept */
  add(changes) {
    return this.#write({ ...this.read(), ...changes });
  }

  /** @param {Changes} sent what the server has now; a name that changed since stays */
  settle(sent) {
    const left = Object.entries(this.read()).filter(([name, value]) => !(Object.hasOwn(sent, name) && sent[name] === value));
    this.#write(Object.fromEntries(left));
  }

  /** @param {Changes} changes */
  #write(changes) {
    try {
      if (Object.keys(changes).length === 0) localStorage.removeItem(this.key);
      else localStorage.setItem(this.key, JSON.stringify(changes));
      return true;
    } catch {
      return false;
    }
  }
}

export class ValueKeeper {
  /**
   * @param {string} promptId
   * @param {{settle: () => void}} editor settle: brings what was typed a moment ago to `note`
   */
  constructor(promptId, editor) {
    this.path = `prompts/${promptId}/values/kept`;
    this.editor = editor;
    this.unsent = new UnsentValues(promptId);
    /** As far as this page knows what is kept, with what it is about to send. @type {Map<string, string | null>} */
    this.kept = new Map();
    /** @type {Changes} */
    this.pending = {};
    this.met = false;
    this.busy = false;
    this.here = true;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    window.addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => document.hidden && this.#leave());
    window.addEventListener("online", () => this.#later(0));
    window.addEventListener("beforeunload", (event) => {
      this.editor.settle();
      if (this.#waiting.length > 0 && !this.here) event.preventDefault();
    });
  }

  get #waiting() {
    return Object.keys(this.pending);
  }

  /**
   * What is kept: by the server, and over it what this browser could not send.
   * @returns {Promise<Record<string, string>>}
   */
  async meet() {
    const left = this.unsent.read();
    /** @type {Record<string, string>} */
    let values = {};
    try {
      values = (await call(this.path)).values;
    } catch {
      // What is typed is kept here and sent later.
    }
    this.kept = new Map([...Object.entries(values), ...Object.entries(left), ...Object.entries(this.pending)]);
    this.pending = { ...left, ...this.pending };
    this.met = true;
    if (this.#waiting.length > 0) this.#later(0);
    return Object.fromEntries([...this.kept].flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
  }

  /**
   * @param {string[]} names of the variables that are shown
   * @param {Record<string, string>} values of those that have one
   */
  note(names, values) {
    const given = names.map((name) => /** @type {[string, string | null]} */ ([name, Object.hasOwn(values, name) ? values[name] : null]));
    // Before it is known what is kept, a value that is not there is no wish to take one away.
    const changed = given.filter(([name, value]) => value !== (this.kept.get(name) ?? null) && (value !== null || this.met));
    if (changed.length === 0) return;
    for (const [name, value] of changed) this.kept.set(name, value);
    const changes = Object.fromEntries(changed);
    this.pending = { ...this.pending, ...changes };
    this.here = this.unsent.add(changes);
    this.#later(QUIET_MS);
  }

  /** @param {number} wait */
  #later(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.#send(), wait);
  }

  async #send() {
    if (this.busy || !this.met || this.#waiting.length === 0) return;
    this.busy = true;
    const [sent, rest] = portion(this.pending);
    this.pending = rest;
    try {
      await call(this.path, { method: "PATCH", body: { values: sent } });
      this.#sent(sent);
    } catch (error) {
      this.#failed(sent, error);
    }
    this.busy = false;
  }

  /** @param {Changes} sent */
  #sent(sent) {
    this.unsent.settle(sent);
    dropNotice("values-nowhere");
    if (this.#waiting.length > 0) this.#later(QUIET_MS);
    else this.here = true;
  }

  /** @param {Changes} sent @param {unknown} error */
  #failed(sent, error) {
    if (error instanceof ApiError && REFUSED.includes(error.status)) {
      const [refused, rest] = withoutRefused(sent, error.field);
      this.unsent.settle(refused);
      this.pending = { ...rest, ...this.pending };
      notice(`${Object.keys(refused).join(", ")}: this value stays in this page only. ${error.sentence}`, { tone: "warn", name: "values" });
      this.#later(QUIET_MS);
      return;
    }
    this.pending = { ...sent, ...this.pending };
    if (!this.here) {
      notice("This browser's storage is full and the server does not answer: values are kept only while this page is open.", { tone: "warn", name: "values-nowhere" });
    }
    this.#later(AGAIN_MS);
  }

  /* The pause after typing may not be over. */
  #leave() {
    this.editor.settle();
    if (this.busy || !this.met || this.#waiting.length === 0) return;
    const body = { values: this.pending };
    if (JSON.stringify(body).length * 3 >= KEEPALIVE_BYTES) return;
    clearTimeout(this.timer);
    const sent = this.pending;
    this.pending = {};
    call(this.path, { method: "PATCH", body, keepalive: true }).then(
      () => this.#sent(sent),
      () => {
        this.pending = { ...sent, ...this.pending };
      },
    );
  }
}
