/* The Wire tab: the exact request and response of a run, fetched when the tab is looked at. */
import { call } from "./api.js";
import { one } from "./dom.js";
import { OPEN } from "./run_stream.js";
import { bindTabs } from "./tabs.js";

/**
 * JSON as it went over the wire, indented for reading.
 * @param {unknown} value
 */
function pretty(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

export class Wire {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = one("[data-wire]", root, HTMLElement);
    /** @type {import("./run_stream.js").RunState | null} */
    this.run = null;
    this.shown = "";
    bindTabs(one("[data-tabs]", root, HTMLElement), () => void this.#fetch());
  }

  /** @param {import("./run_stream.js").RunState | null} run */
  show(run) {
    this.run = run;
    void this.#fetch();
  }

  async #fetch() {
    if (!this.run || this.root.hidden) return;
    const wanted = `${this.run.id} ${this.run.status}`;
    if (wanted === this.shown) return;
    this.shown = wanted;
    try {
      this.#paint(await call(`runs/${this.run.id}`));
    } catch (error) {
      this.shown = "";
      this.#note(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} text "" shows the parts instead */
  #note(text) {
    const note = one("[data-wire-note]", this.root, HTMLElement);
    note.textContent = text;
    note.hidden = !text;
    one("[data-wire-parts]", this.root, HTMLElement).hidden = !!text;
  }

  /** @param {Record<string, any>} run */
  #paint(run) {
    const waiting = OPEN.has(run.status) ? "The response is shown when the run is over." : "There was no response.";
    one("[data-wire-request]", this.root).textContent = pretty(run.wire_request);
    one("[data-wire-response]", this.root).textContent = pretty(run.wire_response) || waiting;
    one("[data-wire-hash]", this.root).textContent = run.request_sha256 ? `SHA-256 of the canonical request: ${run.request_sha256}` : "";
    this.#note("");
  }
}
