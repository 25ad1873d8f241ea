/*
 * How many tokens the prompt takes and what it costs, asked of the server once writing pauses. A question that is
 * overtaken is taken back; one that was answered is not asked again.
 */
import { call } from "../api.js";
import { one } from "../dom.js";
import { isUnsent, textsOf } from "../large/references.js";
import { home } from "../large/text_home.js";
import { canonical } from "../spec.js";
import { sizeFacts, warningOf } from "./estimate_words.js";

/** @typedef {import("../spec.js").Spec} Spec */
/** @typedef {import("./estimate_words.js").Size} Size */

const QUIET_MS = 700;
/** A long prompt is sent whole to be counted, so it is sent more rarely. */
const LONG = 300_000;
const LONG_QUIET_MS = 3000;

export class Estimate {
  /**
   * @param {HTMLElement} root
   * @param {(size: Size | null) => void} onSize what is known now; null when nothing is
   * @param {() => string} [promptId] by default the one whose version is open
   */
  constructor(root, onSize, promptId = () => home.promptId) {
    this.root = root;
    this.promptId = promptId;
    this.onSize = onSize;
    /** What was answered for what stands in the editor. @type {Size | null} */
    this.size = null;
    /** What stands in the editor, and the same as one text. */
    this.question = {};
    this.wanted = "";
    this.answered = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {{stop: AbortController, done: Promise<void>} | null} */
    this.asking = null;
  }

  /**
   * Notes what stands in the editor; asks about it once it stays so.
   * @param {Spec} spec
   * @param {Record<string, string>} values
   * @param {string} provider "" for whoever offers the model
   */
  note(spec, values, provider) {
    const question = { spec, variables: values, provider: provider || null };
    const wanted = canonical(question);
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    this.question = question;
    this.#stop();
    if (textsOf(spec).some(isUnsent)) {
      this.#answer(null, "A large text was changed and is not sent yet: it is counted once it is saved.");
      return;
    }
    this.root.dataset.state = "waiting";
    this.timer = setTimeout(() => void this.#ask(), wanted.length > LONG ? LONG_QUIET_MS : QUIET_MS);
  }

  #stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.asking?.stop.abort();
    this.asking = null;
  }

  #ask() {
    clearTimeout(this.timer);
    this.timer = undefined;
    const stop = new AbortController();
    const done = call(`prompts/${this.promptId()}/count`, { method: "POST", body: this.question, signal: stop.signal }).then(
      (size) => !stop.signal.aborted && this.#answer(size, ""),
      (error) => !stop.signal.aborted && this.#answer(null, `Tokens not known: ${error.message}`),
    );
    this.asking = { stop, done: done.then(() => {}) };
    return this.asking.done;
  }

  /** @param {Size | null} size @param {string} words in place of a size */
  #answer(size, words) {
    this.size = size;
    this.answered = this.wanted;
    this.asking = null;
    this.#paint(words);
    this.onSize(size);
  }

  /**
   * The size of what stands in the editor, if it can be known soon.
   * @param {number} within ms
   * @returns {Promise<Size | null>}
   */
  async settled(within) {
    if (this.timer !== undefined) void this.#ask();
    const patience = new Promise((resolve) => setTimeout(resolve, within));
    await Promise.race([this.asking?.done, patience]);
    return this.answered === this.wanted ? this.size : null;
  }

  /** @param {string} words */
  #paint(words) {
    const { size } = this;
    const doubt = size ? warningOf(size) : "";
    const facts = size ? sizeFacts(size) : [words];
    this.root.dataset.state = doubt ? "doubtful" : (size?.input_tokens ?? null) === null ? "unknown" : "known";
    one("[data-estimate-facts]", this.root).textContent = facts.join(" · ");
    const warning = one("[data-estimate-warning]", this.root, HTMLElement);
    if (warning.textContent !== doubt) warning.textContent = doubt;
    warning.hidden = !doubt;
  }
}
