/* How far an import is that a worker takes in: on its way to the store, in the queue, version by version. */
import { ApiError, call } from "../api.js";
import { one } from "../dom.js";
import { sizeWords } from "../large/sizes.js";

/** @typedef {{id: string, status: string, name: string, versions_read: number, versions_total: number, versions_made: number, prompt: {id: string, name: string} | null, error: {code: string, message: string} | null}} State */

/* Asked for, not pushed: imports are rare and end in seconds, and one that takes minutes is asked less and less often. */
const FIRST_ASK_MS = 800;
const LONGEST_ASK_MS = 4000;
const WORDS = { read: "Reading", send: "Sending", check: "Checking" };

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class ImportProgress {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.bar = one("progress", root, HTMLProgressElement);
    this.words = one("[data-import-progress-words]", root, HTMLElement);
    this.name = one("[data-import-progress-name]", root, HTMLElement);
    this.help = one("[data-import-progress-help]", root, HTMLElement);
    /** What Cancel does at the moment. */
    this.cancel = () => {};
    one("[data-import-cancel]", root).addEventListener("click", () => this.cancel());
  }

  /** @param {string} name @param {() => void} cancel */
  begin(name, cancel) {
    this.root.hidden = false;
    this.help.hidden = true;
    this.name.textContent = name;
    this.cancel = cancel;
    this.#paint("", null);
  }

  end() {
    this.root.hidden = true;
  }

  /** @param {"read" | "send" | "check" | "wait"} part @param {number} done of 1 @param {number} bytes */
  sending(part, done, bytes) {
    const percent = `${Math.floor(done * 100)} %`;
    if (part === "wait") this.#paint(`Cut off with ${percent} sent; waiting to go on`, done);
    else if (part === "check") this.#paint(`${WORDS[part]} ${sizeWords(bytes)}`, null);
    else this.#paint(`${WORDS[part]} ${sizeWords(bytes)}, ${percent}`, done);
  }

  /**
   * Asks until it is over; a connection that is cut is waited out, for the import goes on without it.
   * @param {string} id
   * @returns {Promise<State>} done or failed, or pending: the file did not arrive
   */
  async follow(id) {
    this.help.hidden = false;
    for (let wait = FIRST_ASK_MS; ; wait = Math.min(wait * 1.1, LONGEST_ASK_MS)) {
      try {
        /** @type {State} */
        const state = await call(`imports/${id}`);
        if (["done", "failed", "pending"].includes(state.status)) return state;
        this.#show(state);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "unreachable") throw error;
        this.#paint("The connection was cut. The import goes on; how far it is will be shown here.", null);
      }
      await pause(wait);
    }
  }

  /** @param {State} state */
  #show({ status, name, versions_read: read, versions_total: total }) {
    if (name) this.name.textContent = name;
    if (status === "queued") this.#paint("Waiting for its turn", null);
    else if (total === 0) this.#paint("Reading and checking the file", null);
    else if (read === total) this.#paint(`All ${total.toLocaleString()} versions are read; putting them together`, null);
    else this.#paint(`${read.toLocaleString()} of ${total.toLocaleString()} versions`, read / total);
  }

  /** @param {string} text @param {number | null} done of 1; null for nobody knows */
  #paint(text, done) {
    if (this.words.textContent !== text) this.words.textContent = text;
    if (done === null) this.bar.removeAttribute("value");
    else this.bar.value = done;
  }
}
