/* The card of a variable, opened beneath its value: name, type, description, default. */
import { fromTemplate, one } from "./dom.js";
import { OptionalText } from "./optional_text.js";
import { jsonProblem } from "./variable_cards.js";

/** @typedef {import("./variable_cards.js").Card} Card */

export class VariableCardForm {
  /**
   * @param {string} name
   * @param {{card: () => Card, change: (change: Partial<Card>) => void, rename: (to: string) => string, about: (to: string) => string}} owner
   *   rename: says what is wrong with the name, or "" when it is done; about: what to say before it is done
   */
  constructor(name, owner) {
    this.owner = owner;
    this.element = fromTemplate("variable-card");
    this.name = one("[data-card-name]", this.element, HTMLInputElement);
    this.type = one("[data-card-type]", this.element, HTMLSelectElement);
    this.description = one("[data-card-description]", this.element, HTMLInputElement);
    this.name.value = name;
    this.given = new OptionalText(one("[data-card-default]", this.element, HTMLElement), {
      label: `Default for ${name}`,
      placeholder: "none",
      onChange: () => this.#changed(),
    });
    this.#bind();
    this.load();
  }

  #bind() {
    this.type.addEventListener("change", () => this.#changed());
    this.description.addEventListener("input", () => this.#changed());
    this.name.addEventListener("input", () => this.#say(this.owner.about(this.name.value)));
    this.name.addEventListener("keydown", (event) => {
      // Enter that only ends a composition is no wish to rename.
      if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#rename();
    });
    one("[data-card-rename]", this.element).addEventListener("click", () => this.#rename());
    one("[data-card-default-empty]", this.element).addEventListener("click", () => this.given.meanEmpty());
    one("[data-card-default-none]", this.element).addEventListener("click", () => {
      this.given.clear();
      this.given.editor.focus();
    });
  }

  load() {
    const card = this.owner.card();
    this.type.value = card.type;
    this.description.value = card.description;
    this.given.load(card.default);
    this.#paint();
  }

  #changed() {
    this.#paint();
    this.owner.change({ type: /** @type {Card["type"]} */ (this.type.value), description: this.description.value, default: this.given.read() });
  }

  #rename() {
    const problem = this.owner.rename(this.name.value);
    this.#say(problem, true);
    if (problem) this.name.focus();
  }

  /** @param {string} words @param {boolean} [isProblem] */
  #say(words, isProblem = false) {
    const note = one("[data-card-name-note]", this.element, HTMLElement);
    note.textContent = words;
    note.hidden = !words;
    note.classList.toggle("field-error", isProblem);
    note.classList.toggle("field-help", !isProblem);
    this.name.setAttribute("aria-invalid", String(isProblem && words !== ""));
  }

  #paint() {
    const value = this.given.read();
    const state = one("[data-card-default-state]", this.element);
    state.textContent = value === undefined ? "none: must be filled in" : value === "" ? "empty text" : "";
    one("[data-card-default-empty]", this.element, HTMLElement).hidden = value !== undefined;
    one("[data-card-default-none]", this.element, HTMLElement).hidden = value === undefined;
    const problem = this.type.value === "json" && value !== undefined ? jsonProblem(value) : "";
    const place = one("[data-card-default-problem]", this.element, HTMLElement);
    place.textContent = problem;
    place.hidden = !problem;
  }

  focusName() {
    this.name.focus();
    this.name.select();
  }
}
