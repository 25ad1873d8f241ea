/* One conflict on the page: what it was, what both made of it, and the choice. */
import { el, fromTemplate, one } from "./dom.js";
import { placeName, valueText } from "./diff_words.js";
import { TextEditor } from "./text_editor.js";

/** @typedef {import("./merge_resolve.js").Question} Question */
/** @typedef {import("./merge_resolve.js").Choice} Choice */

const LONGEST_SHOWN = 20_000;
const ABSENT = { message: "Removed", field: "Not set", text: "" };

export class MergeQuestion {
  /**
   * @param {Question} question
   * @param {string} title
   * @param {{ours: string, theirs: string}} names
   * @param {() => void} onChange
   */
  constructor(question, title, names, onChange) {
    this.question = question;
    this.names = names;
    this.onChange = onChange;
    this.element = fromTemplate("conflict");
    /** @type {Choice | null} */
    this.choice = null;
    /** @type {TextEditor | null} */
    this.editor = null;
    one("[data-conflict-title]", this.element).textContent = title;
    for (const side of /** @type {const} */ (["base", "ours", "theirs"])) this.#side(side);
    this.#choices();
  }

  /** @param {"base" | "ours" | "theirs"} side */
  #side(side) {
    const value = this.question[side];
    const text = this.#text(side);
    const panel = one(`[data-side="${side}"]`, this.element);
    const names = { base: "Before both", ours: this.names.ours, theirs: this.names.theirs };
    one("h3", panel).replaceChildren(el("bdi", {}, names[side]));
    const absent = value === null || value === undefined || text === "";
    const words = value === "" ? "Empty" : ABSENT[this.question.conflict.kind] || "Nothing";
    const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}\n… ${(text.length - LONGEST_SHOWN).toLocaleString()} more characters` : text;
    one("pre", panel).replaceChildren(absent ? el("span", { class: "faint" }, words) : shown);
  }

  /** @param {"base" | "ours" | "theirs"} side */
  #text(side) {
    const value = this.question[side];
    if (value === null || value === undefined) return "";
    return valueText(value);
  }

  #choices() {
    const box = one("[data-choices]", this.element);
    const { takesBoth, key } = this.question;
    const options = [["ours", `Keep ${this.names.ours}`], ["theirs", `Take ${this.names.theirs}`], ...(takesBoth ? [["both", "Both, one after the other"]] : []), ["edit", "Edit"]];
    box.append(
      ...options.map(([value, label]) => el("label", { class: "choice" }, el("input", { type: "radio", name: `choice-${key}`, value }), el("bdi", { class: "truncate" }, label))),
    );
    box.addEventListener("change", (event) => this.#choose(/** @type {HTMLInputElement} */ (event.target).value));
  }

  /** @param {string} how */
  #choose(how) {
    const editing = how === "edit";
    one("[data-conflict-edit]", this.element, HTMLElement).hidden = !editing;
    if (editing) this.#edit();
    else this.choice = { how: /** @type {"ours" | "theirs" | "both"} */ (how) };
    this.#decided();
  }

  #decided() {
    this.element.classList.toggle("is-decided", this.choice !== null);
    this.say("");
    this.onChange();
  }

  /* The editor begins with what was chosen before it. */
  #edit() {
    const begin = this.choice?.how === "theirs" ? this.#text("theirs") : this.choice?.how === "both" ? this.#text("ours") + this.#text("theirs") : this.#text("ours");
    if (!this.editor) {
      const onChange = () => this.#edited();
      this.editor = new TextEditor(one("[data-conflict-text]", this.element), { label: `Resolution of conflict in ${placeName(this.question.conflict.place)}`, onChange });
      this.editor.load(begin);
    }
    this.choice = { how: "edit", text: this.editor.read() };
    this.editor.focus();
  }

  #edited() {
    this.choice = { how: "edit", text: this.editor?.read() ?? "" };
    this.#decided();
  }

  /** @param {string} text what is wrong with the choice; "" for nothing */
  say(text) {
    const problem = one("[data-conflict-error]", this.element, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
  }
}
