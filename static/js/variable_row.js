/* One variable of the panel: its value, what there is to say of it, its card when opened. */
import { fromTemplate, one } from "./dom.js";
import { bindDropping, pickFile } from "./large/dropping.js";
import { readShort } from "./large/short_file.js";
import { countWords, sizeWords } from "./large/sizes.js";
import { OptionalText } from "./optional_text.js";
import { toast } from "./toast.js";
import { VariableCardForm } from "./variable_card.js";
import { jsonProblem } from "./variable_cards.js";

/** @typedef {import("./variable_cards.js").Card} Card */
/** @typedef {"set" | "empty" | "default" | "unset"} ValueState */
/**
 * @typedef {{
 *   canDeclare: boolean, card: (name: string) => Card, isUndeclared: (name: string) => boolean, onChange: () => void,
 *   change: (name: string, change: Partial<Card>) => void, declare: (name: string) => void, remove: (name: string) => void,
 *   rename: (from: string, to: string) => string, about: (from: string, to: string) => string,
 * }} Owner the panel
 */

const WORDS = { set: "", empty: "empty text", default: "default", unset: "unset" };
const TYPES = { text: "", json: "JSON", file: "file" };

export class VariableRow {
  /**
   * @param {string} name
   * @param {Owner} owner
   */
  constructor(name, owner) {
    this.name = name;
    this.owner = owner;
    /** @type {VariableCardForm | null} */
    this.form = null;
    this.isUsed = true;
    this.fileName = "";
    this.isOpenFile = false;
    this.element = fromTemplate("variable");
    this.element.setAttribute("aria-label", name);
    const title = one(".variable-name", this.element);
    title.textContent = name;
    title.setAttribute("title", name);
    this.text = new OptionalText(one("[data-variable-text]", this.element, HTMLElement), {
      label: `Value of ${name}`,
      placeholder: owner.card(name).default ?? "",
      onChange: () => owner.onChange(),
    });
    this.#bind();
  }

  /** @param {string} selector */
  #part(selector) {
    return one(selector, this.element, HTMLElement);
  }

  /** A file becomes the value; a run carries its values itself, so they have a limit. @param {File} file */
  async #take(file) {
    try {
      const text = await readShort(file, "A value");
      this.fileName = file.name;
      this.text.replace(text);
    } catch (error) {
      toast(/** @type {Error} */ (error).message, { tone: "bad" });
    }
  }

  #bind() {
    const on = (/** @type {string} */ selector, /** @type {() => void} */ action) => this.#part(selector).addEventListener("click", action);
    const pick = () => pickFile((file) => void this.#take(file));
    bindDropping(this.element, { onFile: (file) => void this.#take(file), onText: () => false });
    for (const button of this.element.querySelectorAll("[data-variable-attach], [data-variable-choose]")) button.addEventListener("click", pick);
    on("[data-variable-empty]", () => this.text.meanEmpty());
    on("[data-variable-unset]", () => this.#unset());
    on("[data-variable-clear]", () => this.#unset());
    on("[data-variable-look]", () => {
      this.isOpenFile = !this.isOpenFile;
      this.paint(this.isUsed);
    });
    on("[data-variable-declare]", () => this.owner.declare(this.name));
    on("[data-variable-remove]", () => this.owner.remove(this.name));
    on("[data-variable-settings]", () => this.toggleCard());
    this.#part("[data-variable-settings]").hidden = !this.owner.canDeclare;
  }

  #unset() {
    this.fileName = "";
    this.text.clear();
    if (!this.#part("[data-variable-text]").hidden) this.text.editor.focus();
  }

  /** @param {boolean} [open] */
  toggleCard(open = !this.form) {
    const place = this.#part("[data-variable-card]");
    if (open) {
      this.form ??= new VariableCardForm(this.name, {
        card: () => this.owner.card(this.name),
        change: (change) => this.owner.change(this.name, change),
        rename: (to) => this.owner.rename(this.name, to),
        about: (to) => this.owner.about(this.name, to),
      });
      place.replaceChildren(this.form.element);
    } else {
      this.form = null;
      place.replaceChildren();
    }
    place.hidden = !open;
    this.#part("[data-variable-settings]").setAttribute("aria-expanded", String(open));
  }

  focusName() {
    this.toggleCard(true);
    this.form?.focusName();
  }

  focus() {
    if (this.#part("[data-variable-text]").hidden) this.#part("[data-variable-choose]").focus();
    else this.text.editor.focus();
  }

  /** @param {string | undefined} value */
  load(value) {
    this.fileName = "";
    this.text.load(value);
  }

  /** @returns {string | undefined} undefined when no value is given here */
  read() {
    return this.text.read();
  }

  /** @returns {ValueState} */
  get state() {
    const value = this.read();
    if (value !== undefined) return value === "" ? "empty" : "set";
    return this.owner.card(this.name).default === undefined ? "unset" : "default";
  }

  /** @returns {string} why the value cannot be sent; "" if it can */
  get problem() {
    const card = this.owner.card(this.name);
    const value = this.read() ?? card.default;
    return this.isUsed && card.type === "json" && value !== undefined ? jsonProblem(value) : "";
  }

  /** @param {boolean} isUsed whether a text names it */
  paint(isUsed) {
    this.isUsed = isUsed;
    const { state } = this;
    const card = this.owner.card(this.name);
    this.element.dataset.state = isUsed ? state : "unused";
    this.#paintChips(state, card);
    this.#paintFile(card.type === "file", state);
    this.#say("[data-variable-problem]", this.problem);
    this.#say("[data-variable-about]", card.description);
    this.text.editor.placeholder = card.default ?? "";
  }

  /** @param {ValueState} state @param {Card} card */
  #paintChips(state, card) {
    const chip = this.#part("[data-variable-state]");
    chip.textContent = this.isUsed ? WORDS[state] : "in no text";
    chip.hidden = chip.textContent === "";
    chip.classList.toggle("is-warn", !this.isUsed || state === "unset");
    this.#say("[data-variable-type]", TYPES[card.type]);
    const undeclared = this.isUsed && this.owner.isUndeclared(this.name);
    this.#part("[data-variable-undeclared]").hidden = !undeclared;
    this.#part("[data-variable-declare]").hidden = !undeclared || !this.owner.canDeclare;
    this.#part("[data-variable-remove]").hidden = this.isUsed || !this.owner.canDeclare;
    this.#part("[data-variable-empty]").hidden = !this.isUsed || state === "set" || state === "empty";
    this.#part("[data-variable-unset]").hidden = !this.isUsed || state !== "empty";
    this.#part("[data-variable-attach]").hidden = !this.isUsed || card.type === "file";
  }

  /** @param {boolean} isFile @param {ValueState} state */
  #paintFile(isFile, state) {
    const isSet = state === "set";
    this.#part("[data-variable-file]").hidden = !isFile || !this.isUsed;
    this.#part("[data-variable-text]").hidden = !this.isUsed || (isFile && !(isSet && this.isOpenFile));
    if (!isFile) return;
    const { doc } = this.text.editor.view.state;
    const size = isSet ? `${sizeWords(new Blob([this.read() ?? ""]).size)} · ${countWords(doc.lines, "line")}` : "Drop a text file here, up to 2 MB";
    this.#part("[data-variable-file-facts]").textContent = isSet && this.fileName ? `${this.fileName} · ${size}` : size;
    this.#part("[data-variable-choose]").textContent = isSet ? "Replace…" : "Choose file…";
    const look = this.#part("[data-variable-look]");
    look.hidden = !isSet;
    look.textContent = this.isOpenFile ? "Hide text" : "Show text";
    this.#part("[data-variable-clear]").hidden = !isSet;
  }

  /** @param {string} selector @param {string} words */
  #say(selector, words) {
    const place = this.#part(selector);
    if (place.textContent !== words) place.textContent = words;
    place.hidden = !words;
  }
}
