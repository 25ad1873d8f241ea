/* Which model: a list that is searched as one types, of those that this server knows; any other name may be typed. */
import { call } from "./api.js";
import { el, one } from "./dom.js";
import { factsOf, matching } from "./editor/model_words.js";
import { learnNotices, showNotice } from "./model_notices.js";
import { learnPrices } from "./prices.js";

/** @typedef {import("./editor/model_words.js").CatalogueModel} CatalogueModel */

/** Older than this, the list is asked for again when it is opened: queues move. */
const FRESH_MS = 15_000;

export class ModelField {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    this.input = one("[data-param-model]", root, HTMLInputElement);
    this.list = one("[data-model-list]", root, HTMLElement);
    this.facts = one("[data-model-facts]", root, HTMLElement);
    this.notice = one("[data-model-notice]", root, HTMLElement);
    this.onChange = onChange;
    /** @type {CatalogueModel[]} */
    this.models = [];
    this.isKnown = false;
    this.askedAt = 0;
    /** Those in the list now. @type {CatalogueModel[]} */
    this.offered = [];
    this.active = -1;
    this.value = "";
    /** Who runs it, where it was chosen from the list; "" leaves it to the server, as a version does. */
    this.provider = "";
    this.#bind(one("[data-model-open]", root, HTMLButtonElement));
  }

  /** @param {HTMLButtonElement} opener */
  #bind(opener) {
    this.input.addEventListener("input", () => this.#open(this.input.value));
    this.input.addEventListener("keydown", (event) => this.#onKey(event));
    this.input.addEventListener("click", () => this.#show());
    this.input.addEventListener("blur", () => this.#take(this.input.value));
    // A press would take the focus, and with it what was typed, before the click comes.
    for (const part of [opener, this.list]) part.addEventListener("mousedown", (event) => event.preventDefault());
    opener.addEventListener("click", () => {
      this.input.focus();
      if (this.isOpen) this.#close();
      else this.#show();
    });
    this.list.addEventListener("click", (event) => {
      const option = /** @type {Element} */ (event.target).closest("[role=option]");
      if (option instanceof HTMLElement) this.#take(option.dataset.model ?? "", option.dataset.provider);
    });
  }

  /** Asks the server which models there are; without an answer the name is typed. */
  async fetchModels() {
    this.askedAt = performance.now();
    const answer = await call("models").catch(() => null);
    this.models = answer?.results ?? [];
    this.isKnown = answer !== null;
    learnNotices(this.models);
    learnPrices(this.models);
    this.#paint();
    return this.models;
  }

  /** @param {string} model */
  load(model) {
    if (model !== this.value) this.provider = "";
    this.value = model;
    this.input.value = model;
    this.#close();
    this.#paint();
  }

  get isOpen() {
    return !this.list.hidden;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !event.altKey) {
      event.preventDefault();
      if (!this.isOpen) this.#show();
      else this.#activate((this.active + step + this.offered.length) % this.offered.length);
    } else if (event.key === "Enter") {
      const chosen = this.isOpen && this.active >= 0 ? this.offered[this.active] : { id: this.input.value, provider: undefined };
      // With Ctrl or Cmd it runs, which is the page's.
      if (!event.ctrlKey && !event.metaKey) event.preventDefault();
      this.#take(chosen.id, chosen.provider);
    } else if (event.key === "Escape" && this.isOpen) {
      event.preventDefault();
      event.stopPropagation();
      this.input.value = this.value;
      this.#close();
    }
  }

  #show() {
    this.#open("");
    if (performance.now() - this.askedAt < FRESH_MS) return;
    // Who has moved on in the list meanwhile keeps their place in it.
    const before = this.active;
    void this.fetchModels().then(() => this.isOpen && this.active === before && this.input.value === this.value && this.#open(""));
  }

  /** @param {string} typed what the list is searched for */
  #open(typed) {
    if (this.input.disabled || this.models.length === 0) return;
    this.offered = matching(this.models, typed);
    this.list.replaceChildren(...this.offered.map((model, index) => this.#option(model, index)));
    if (this.offered.length === 0) this.list.append(el("li", { class: "combo-none", role: "presentation" }, "No model of this server. Enter takes the name as it is."));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    const here = this.offered.findIndex((model) => this.#isChosen(model));
    this.#activate(typed ? -1 : here);
  }

  /** @param {CatalogueModel} model @param {number} index */
  #option(model, index) {
    const facts = el("span", { class: "combo-facts" }, [factsOf(model), model.notice].filter(Boolean).join(" · "));
    const isChosen = String(this.#isChosen(model));
    return el("li", { role: "option", id: `model-option-${index}`, "data-model": model.id, "data-provider": model.provider, "aria-selected": isChosen, class: "combo-option" }, el("bdi", {}, model.id), facts);
  }

  /** Two providers may offer a model of one name. @param {CatalogueModel} model */
  #isChosen({ id, provider }) {
    return id === this.value && (!this.provider || provider === this.provider);
  }

  /** @param {number} index */
  #activate(index) {
    const options = this.list.querySelectorAll("[role=option]");
    options[this.active]?.removeAttribute("data-active");
    this.active = index;
    const option = options[index];
    if (option) {
      option.setAttribute("data-active", "");
      option.scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", option.id);
    } else this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.list.hidden = true;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {string} name @param {string} [provider] left out where it was not chosen */
  #take(name, provider) {
    const model = name.trim();
    this.#close();
    this.input.value = model;
    if (model === this.value && (provider ?? this.provider) === this.provider) return;
    this.value = model;
    this.provider = provider ?? "";
    this.#paint();
    this.onChange();
  }

  #paint() {
    const known = this.models.find(({ id }) => id === this.value);
    const unknown = this.isKnown && this.value && this.models.length > 0 ? "Not one of those that this server names." : "";
    this.facts.textContent = known ? factsOf(known) : unknown;
    this.facts.hidden = this.facts.textContent === "";
    showNotice(this.notice, this.value);
  }
}
