/* `@` in a comment offers the people who may see the prompt; who is chosen is told. */
import { call } from "../api.js";
import { el } from "../dom.js";

/** @typedef {{id: string, name: string}} Person */

const ASKED = /(?:^|[\s(])@([^@\n]{0,40})$/u;
let lists = 0;

export class Mentions {
  /**
   * @param {HTMLTextAreaElement} field
   * @param {string} promptId
   * @param {Person[]} before who is mentioned already
   */
  constructor(field, promptId, before) {
    this.field = field;
    this.promptId = promptId;
    /** Everybody who was chosen while this was written. @type {Map<string, Person>} */
    this.chosen = new Map(before.map((person) => [person.id, person]));
    this.list = el("ul", { class: "mention-list", role: "listbox", id: `mentions-${(lists += 1)}`, "aria-label": "People", hidden: true });
    /** @type {Person[]} */
    this.found = [];
    this.at = 0;
    this.asked = "";
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-haspopup", "listbox");
    field.setAttribute("aria-controls", this.list.id);
    field.addEventListener("input", () => void this.#look());
    field.addEventListener("keydown", (event) => this.#key(event));
    field.addEventListener("blur", () => this.#show([]));
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const item = /** @type {Element} */ (event.target).closest("[role=option]");
      if (item) this.#choose([...this.list.children].indexOf(item));
    });
  }

  /** The ids of those whose names still stand in the text. */
  get ids() {
    return [...this.chosen.values()].filter(({ name }) => this.field.value.includes(`@${name}`)).map(({ id }) => id);
  }

  get #word() {
    return ASKED.exec(this.field.value.slice(0, this.field.selectionStart))?.[1] ?? null;
  }

  async #look() {
    const word = this.#word;
    if (word === null) {
      this.#show([]);
      return;
    }
    this.asked = word;
    const answer = await call(`prompts/${this.promptId}/people?${new URLSearchParams({ q: word })}`).catch(() => ({ results: [] }));
    if (this.asked === word && this.#word === word) this.#show(answer.results);
  }

  /** @param {Person[]} people */
  #show(people) {
    this.found = people;
    this.at = 0;
    this.list.hidden = people.length === 0;
    this.list.replaceChildren(...people.map(({ name }, place) => el("li", { role: "option", id: `${this.list.id}-${place}`, class: "mention-option truncate", "aria-selected": place === 0 ? "true" : "false" }, el("bdi", {}, name))));
    this.#point();
  }

  #point() {
    [...this.list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === this.at)));
    if (this.found.length > 0) this.field.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (this.found.length === 0 || event.isComposing || event.keyCode === 229) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.at = (this.at + step + this.found.length) % this.found.length;
    else if (event.key === "Escape") this.#show([]);
    else if ((event.key === "Enter" || event.key === "Tab") && !event.ctrlKey && !event.metaKey) this.#choose(this.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.#point();
  }

  /** @param {number} place */
  #choose(place) {
    const person = this.found[place];
    const word = this.#word;
    if (!person || word === null) return;
    const end = this.field.selectionStart;
    this.field.setRangeText(`@${person.name} `, end - word.length - 1, end, "end");
    this.chosen.set(person.id, person);
    this.#show([]);
    this.field.focus();
  }
}
