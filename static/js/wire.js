/* The Wire tab: the exact request and response of a run and its facts, fetched when the tab is looked at. */
import { call } from "./api.js";
import { copyFrom } from "./copy.js";
import { el, one } from "./dom.js";
import { indented } from "./json_layout.js";
import { OPEN } from "./run_stream.js";
import { headWords, wireFacts } from "./wire_facts.js";

/** A request of 20 MB would stop the page; so much of it is shown, laid out, and all of it is copied, as it was sent. */
const MOST_SHOWN = 400_000;

export class Wire {
  /** @param {HTMLElement} root the pane of the output */
  constructor(root) {
    this.root = one("[data-wire]", root, HTMLElement);
    /** @type {import("./run_stream.js").RunState | null} */
    this.run = null;
    this.shown = "";
    /** @type {Record<string, string>} */
    this.texts = {};
    for (const button of /** @type {NodeListOf<HTMLElement>} */ (this.root.querySelectorAll("[data-copy-wire]"))) {
      button.addEventListener("click", () => void copyFrom(button, this.texts[button.dataset.copyWire ?? ""] ?? ""));
    }
  }

  /** @param {import("./run_stream.js").RunState | null} run */
  show(run) {
    this.run = run;
    void this.look();
  }

  /** Asks for what is not there yet, if anybody is looking. */
  async look() {
    if (!this.run || this.root.hidden) return;
    const wanted = `${this.run.id} ${this.run.status}`;
    if (wanted === this.shown) return;
    this.shown = wanted;
    try {
      this.#paint(await call(`runs/${this.run.id}?wire=text`));
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
    if (run.id !== this.run?.id) return;
    const waiting = OPEN.has(run.status) ? "The response is shown when the run is over." : "There was no response.";
    const facts = wireFacts({ ...run, wire_response: JSON.parse(run.wire_response ?? "null") }).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, value))));
    one("[data-wire-facts]", this.root).replaceChildren(...facts);
    const head = headWords(run.wire_headers);
    this.#text("head", head, { shown: head, rest: 0 });
    this.#text("request", run.wire_request, indented(run.wire_request, MOST_SHOWN));
    const response = run.wire_response ?? waiting;
    this.#text("response", response, run.wire_response ? indented(response, MOST_SHOWN) : { shown: waiting, rest: 0 });
    this.#note("");
  }

  /** @param {string} name @param {string} text to the character @param {import("./json_layout.js").Layout} layout of it */
  #text(name, text, { shown, rest }) {
    this.texts[name] = text;
    const more = `\n… ${rest.toLocaleString()} more characters; Copy takes all of them.`;
    one(`[data-wire-${name}]`, this.root).replaceChildren(shown, ...(rest ? [el("span", { class: "faint" }, more)] : []));
  }
}
