/* The versions of a new batch: one to four, each by label, branch or number, with its own model if wanted. */
import { el, fromTemplate, one } from "../dom.js";

/** @typedef {{branches: {name: string, number: number}[], labels: {name: string, number: number}[], versions: {number: number, message: string}[]}} Offers */
/** @typedef {{version: string, model: string}} Chosen model: "" for the version's own */

export const MOST_VERSIONS = 4;

export class VersionRows {
  /**
   * @param {HTMLElement} list
   * @param {HTMLButtonElement} add
   * @param {Offers} offers
   * @param {() => void} onChange
   */
  constructor(list, add, offers, onChange) {
    this.list = list;
    this.add = add;
    this.offers = offers;
    this.onChange = onChange;
    /** @type {Chosen[]} */
    this.chosen = [];
    /** @type {string[]} */
    this.models = [];
    add.addEventListener("click", () => {
      this.chosen.push({ version: this.#next(), model: "" });
      this.#paint();
      this.onChange();
      one("select", /** @type {HTMLElement} */ (this.list.lastElementChild), HTMLSelectElement).focus();
    });
  }

  /** @param {Chosen[]} chosen */
  load(chosen) {
    this.chosen = chosen.length > 0 ? chosen.slice(0, MOST_VERSIONS) : [{ version: this.#next(), model: "" }];
    this.#paint();
  }

  /** @param {string[]} models */
  offerModels(models) {
    this.models = models;
    this.#paint();
  }

  /** What is worth comparing next: a label, the head, the version before it. */
  #next() {
    const { branches, labels, versions } = this.offers;
    const main = branches.find(({ name }) => name === "main");
    const order = [...(main ? [main.name] : []), ...labels.map(({ name }) => name), ...versions.map(({ number }) => String(number))];
    const numbers = new Set(this.chosen.map(({ version }) => this.#numberOf(version)));
    return order.find((pointer) => !numbers.has(this.#numberOf(pointer))) ?? order[0] ?? "";
  }

  /** @param {string} pointer */
  #numberOf(pointer) {
    const named = [...this.offers.labels, ...this.offers.branches].find(({ name }) => name === pointer);
    return named ? named.number : Number(pointer);
  }

  #paint() {
    this.list.replaceChildren(...this.chosen.map((chosen, index) => this.#row(chosen, index)));
    this.add.hidden = this.chosen.length >= MOST_VERSIONS;
  }

  /** @param {Chosen} chosen @param {number} index */
  #row(chosen, index) {
    const row = fromTemplate("version-row");
    const pointer = one("[data-version-pointer]", row, HTMLSelectElement);
    const model = one("[data-version-model]", row, HTMLSelectElement);
    pointer.id = `batch-version-${index}`;
    model.id = `batch-model-${index}`;
    const [pointerLabel, modelLabel] = row.querySelectorAll("label");
    pointerLabel.htmlFor = pointer.id;
    modelLabel.htmlFor = model.id;
    pointer.append(...this.#pointers(chosen.version));
    pointer.value = chosen.version;
    model.append(new Option("the version's own", ""), ...[...new Set([...this.models, ...(chosen.model ? [chosen.model] : [])])].map((id) => new Option(id, id)));
    model.value = chosen.model;
    pointer.addEventListener("change", () => this.#change(chosen, { version: pointer.value }));
    model.addEventListener("change", () => this.#change(chosen, { model: model.value }));
    const remove = one("[data-version-remove]", row, HTMLButtonElement);
    remove.disabled = this.chosen.length === 1;
    remove.addEventListener("click", () => {
      this.chosen.splice(index, 1);
      this.#paint();
      this.onChange();
      this.add.focus();
    });
    return row;
  }

  /** @param {Chosen} chosen @param {Partial<Chosen>} change */
  #change(chosen, change) {
    Object.assign(chosen, change);
    this.onChange();
  }

  /** @param {string} asked */
  #pointers(asked) {
    const { branches, labels, versions } = this.offers;
    const groups = [
      group("Branches", branches.map(({ name, number }) => [name, `${name} (v${number})`])),
      group("Labels", labels.map(({ name, number }) => [name, `${name} (v${number})`])),
      group("Versions", versions.map(({ number, message }) => [String(number), `v${number}${message ? `: ${message.slice(0, 60)}` : ""}`])),
    ];
    const isOffered = [...branches, ...labels].some(({ name }) => name === asked) || versions.some(({ number }) => String(number) === asked);
    return [...groups.filter((each) => each.childElementCount > 0), ...(isOffered || !asked ? [] : [new Option(/^\d+$/.test(asked) ? `v${asked}` : asked, asked)])];
  }
}

/** @param {string} label @param {[string, string][]} options */
function group(label, options) {
  return el("optgroup", { label }, ...options.map(([value, words]) => new Option(words, value)));
}
