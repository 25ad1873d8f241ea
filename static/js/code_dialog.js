/* Get code: the saved version as a call from somebody's own code, and whether it is the call that a run made. */
import { runPage } from "./addresses.js";
import { call } from "./api.js";
import { copyFrom } from "./copy.js";
import { openDialog } from "./dialog.js";
import { one } from "./dom.js";
import { proofWords } from "./proof_words.js";
import { bindTabs } from "./tabs.js";
import { relative } from "./time.js";

/* A text of 20 MB would hold the page for seconds; copying and downloading take all of it. */
const SHOWN_CHARACTERS = 300_000;
const OWN_API = "run";

/** @typedef {{promptId: string, number: number, isDirty: boolean, values: Record<string, string>}} Wanted */
/** @typedef {import("./proof_words.js").Proof & {text: string, notes: {field: string, message: string, refused: boolean}[]}} Answer */

export class CodeDialog {
  constructor() {
    this.dialog = one("[data-code-dialog]", document, HTMLDialogElement);
    this.shown = one("[data-code-text]", this.dialog, HTMLElement);
    this.stream = one("[data-code-stream]", this.dialog, HTMLInputElement);
    this.fill = one("[data-code-fill]", this.dialog, HTMLInputElement);
    this.tab = one("[role=tab][aria-selected=true]", this.dialog, HTMLElement);
    this.whole = "";
    this.asked = 0;
    /** @type {Wanted | null} */
    this.wanted = null;
    this.#bind();
  }

  #bind() {
    bindTabs(one("[data-code-tabs]", this.dialog, HTMLElement), (tab) => {
      this.tab = tab;
      void this.#fetch();
    });
    for (const choice of [this.stream, this.fill]) choice.addEventListener("change", () => void this.#fetch());
    const copy = one("[data-code-copy]", this.dialog, HTMLElement);
    copy.addEventListener("click", () => void copyFrom(copy, this.whole));
    one("[data-code-download]", this.dialog).addEventListener("click", () => this.#download());
  }

  /** @param {Wanted} wanted */
  open(wanted) {
    this.wanted = wanted;
    openDialog(this.dialog);
    void this.#fetch();
  }

  get language() {
    return this.tab.getAttribute("value") ?? "curl";
  }

  async #fetch() {
    const { wanted, language } = this;
    if (!wanted) return;
    const asked = ++this.asked;
    this.#paintChoices(wanted);
    this.#say("");
    const body = { variables: wanted.values, stream: this.stream.checked, fill: this.fill.checked };
    try {
      const answer = await call(`prompts/${wanted.promptId}/versions/${wanted.number}/snippets/${language}`, { method: "POST", body });
      if (asked === this.asked) this.#paint(answer);
    } catch (error) {
      if (asked !== this.asked) return;
      this.#show("");
      this.#say(/** @type {Error} */ (error).message);
    }
  }

  /** @param {Wanted} wanted */
  #paintChoices(wanted) {
    this.stream.disabled = this.language === "batch";
    for (const help of /** @type {NodeListOf<HTMLElement>} */ (this.dialog.querySelectorAll("[data-code-key]"))) {
      help.hidden = (help.dataset.codeKey === "own") !== (this.language === OWN_API);
    }
    const stale = one("[data-code-stale]", this.dialog, HTMLElement);
    stale.hidden = !wanted.isDirty;
    one("[data-code-stale-text]", stale).textContent = `This is version ${wanted.number} as saved. Your unsaved changes are not in it.`;
  }

  /** @param {Answer} answer */
  #paint(answer) {
    this.#show(answer.text);
    const notes = one("[data-code-notes]", this.dialog, HTMLElement);
    notes.hidden = answer.notes.length === 0;
    notes.replaceChildren(
      ...answer.notes.map(({ message, refused }) => {
        const item = document.createElement("li");
        item.classList.toggle("is-warn", refused);
        item.textContent = refused ? `Will be refused: ${message}` : message;
        return item;
      }),
    );
    this.#prove(answer);
  }

  /** @param {Answer} answer */
  #prove(answer) {
    const proof = one("[data-code-proof]", this.dialog, HTMLElement);
    proof.hidden = false;
    proof.dataset.equal = String(answer.equal === true);
    one("[data-proof-words]", proof).textContent = proofWords(answer, (iso) => relative(new Date(iso)));
    const hash = one("[data-proof-hash]", proof, HTMLElement);
    hash.textContent = answer.request_sha256.slice(0, 16);
    hash.title = `SHA-256 of the request in canonical form (RFC 8785): ${answer.request_sha256}`;
    const run = one("[data-proof-run]", proof, HTMLAnchorElement);
    run.hidden = !answer.last_run;
    if (answer.last_run) run.href = runPage(answer.last_run.id);
  }

  /** @param {string} text */
  #show(text) {
    this.whole = text;
    const cut = text.length > SHOWN_CHARACTERS;
    this.shown.textContent = cut ? `${text.slice(0, SHOWN_CHARACTERS)}\n… ${(text.length - SHOWN_CHARACTERS).toLocaleString()} more characters: Copy and Download take all.` : text;
  }

  #download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.whole], { type: "text/plain;charset=utf-8" }));
    link.download = this.tab.dataset.file ?? "request.txt";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  /** @param {string} text */
  #say(text) {
    const problem = one("[data-code-error]", this.dialog, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
    this.shown.hidden = !!text;
    if (text) one("[data-code-proof]", this.dialog, HTMLElement).hidden = true;
  }
}
