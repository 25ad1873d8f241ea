/* One row for each variable that the texts name or the version declares. Derived from the text every time. */
import { el, one } from "./dom.js";
import { CardSet, renameProblem } from "./variable_cards.js";
import { VariableRow } from "./variable_row.js";
import { normalName } from "./template.js";

/** @typedef {import("./spec.js").VariableCard} VariableCard */
/** @typedef {import("./template.js").Stray & {where: string, line: () => number, open: () => void}} PlacedStray open: shows it in its editor */
/** @typedef {{rename: (from: string, to: string) => void, held: (name: string) => string[]}} Texts rename: in all texts; held: labels of texts that cannot be changed here */

const MOST_STRAYS = 5;

export class VariablesPanel {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   * @param {{cards?: "edit" | "read"}} [options] read: values are filled in, and the cards only say what they say
   */
  constructor(root, onChange, { cards = "edit" } = {}) {
    this.root = root;
    this.rows = one("[data-variables-rows]", root);
    this.canDeclare = cards === "edit";
    this.onChange = onChange;
    this.cards = new CardSet();
    /** The texts in which a rename is done. @type {Texts | null} */
    this.texts = null;
    /** Every variable seen since the page opened: a name that comes back finds its value. @type {Map<string, VariableRow>} */
    this.known = new Map();
    /** @type {string[]} */
    this.names = [];
    /** @type {string[]} */
    this.unusedNames = [];
    this.shown = "";
    one("[data-variables-tidy]", root).addEventListener("click", () => this.#tidy());
  }

  /** @returns {import("./variable_row.js").Owner} */
  get #owner() {
    return {
      canDeclare: this.canDeclare,
      card: (name) => this.cards.get(name),
      isUndeclared: (name) => this.undeclared.has(name),
      onChange: this.onChange,
      change: (name, change) => {
        this.cards.change(name, change);
        this.onChange();
      },
      declare: (name) => {
        this.cards.declare(name);
        this.onChange();
        this.#row(name).toggleCard(true);
      },
      remove: (name) => this.#remove([name]),
      rename: (from, to) => this.#rename(from, to),
      about: (from, to) => this.#aboutRename(from, to),
    };
  }

  /** @param {string} name */
  #row(name) {
    let row = this.known.get(name);
    if (!row) {
      row = new VariableRow(name, this.#owner);
      this.known.set(name, row);
    }
    return row;
  }

  /**
   * @param {Record<string, string>} values
   * @param {VariableCard[] | undefined} cards as the version has them
   */
  load(values, cards) {
    this.cards.load(cards);
    for (const row of this.known.values()) row.toggleCard(false);
    this.fill(values);
  }

  /** Puts values in. Names that are in no text keep theirs until one names them. @param {Record<string, string | undefined>} values */
  fill(values) {
    for (const [name, value] of Object.entries(values)) this.#row(name).load(value);
  }

  /** Puts values in where the person has given none. @param {Record<string, string>} values */
  fillUnset(values) {
    this.fill(Object.fromEntries(Object.entries(values).filter(([name]) => this.#row(name).read() === undefined)));
  }

  /** @param {string[]} names in order of appearance @param {PlacedStray[]} [strays] */
  show(names, strays = []) {
    this.cards.follow(names);
    this.names = names;
    this.unusedNames = this.cards.unused(names);
    const all = [...names, ...this.unusedNames];
    if (all.join("\0") !== this.shown) {
      this.shown = all.join("\0");
      this.rows.replaceChildren(...all.map((name) => this.#row(name).element));
    }
    for (const name of all) this.#row(name).paint(names.includes(name));
    this.root.hidden = all.length === 0 && strays.length === 0;
    this.#paintNote();
    this.#paintStrays(strays);
  }

  #paintNote() {
    const { size } = this.unset;
    const unused = this.unusedNames.length;
    const parts = [
      size > 0 ? `${size} of ${this.names.length} without a value` : String(this.names.length),
      unused > 0 && `${unused} unused`,
    ];
    one("[data-variables-note]", this.root).textContent = parts.filter(Boolean).join(" · ");
    one("[data-variables-tidy]", this.root, HTMLElement).hidden = unused < 2 || !this.canDeclare;
  }

  /** @param {PlacedStray[]} strays */
  #paintStrays(strays) {
    const list = one("[data-variables-strays]", this.root, HTMLElement);
    const words = { unclosed: "is not closed by }}", name: "is no variable name" };
    const shown = strays.slice(0, MOST_STRAYS).map((stray) => ({ ...stray, line: stray.line() }));
    const rows = shown.map(({ kind, raw, where, line, open }) => {
      const button = el("button", { class: "button-link", type: "button" }, el("code", {}, raw));
      button.addEventListener("click", open);
      return el("li", {}, button, ` ${words[kind]}: sent as written (${where}, line ${line.toLocaleString()})`);
    });
    if (strays.length > MOST_STRAYS) rows.push(el("li", {}, `and ${(strays.length - MOST_STRAYS).toLocaleString()} more`));
    const key = [strays.length, ...shown.map(({ kind, raw, where, line }) => `${kind}${raw}${where}${line}`)].join("\0");
    if (list.dataset.shown !== key) list.replaceChildren(...rows);
    list.dataset.shown = key;
    list.hidden = strays.length === 0;
  }

  /** @param {string[]} names */
  #remove(names) {
    for (const name of names) {
      this.cards.remove(name);
      this.#row(name).toggleCard(false);
    }
    this.onChange();
    one("[data-variables-note]", this.root, HTMLElement).focus();
  }

  #tidy() {
    this.#remove(this.unusedNames);
  }

  /** @param {string} from @param {string} written */
  #aboutRename(from, written) {
    const name = normalName(written);
    if (name === null || name === from) return "";
    const held = this.texts?.held(from) ?? [];
    if (held.length === 0) return "";
    return `${from} stays as it is in the large text of ${held.join(", ")}, which is not in the page. Press Edit there first to rename it, too.`;
  }

  /**
   * @param {string} from
   * @param {string} written
   * @returns {string} what is wrong with it; "" when it is done
   */
  #rename(from, written) {
    const problem = renameProblem(written, from, [...this.names, ...this.cards.names]);
    const to = normalName(written) ?? "";
    if (problem || to === from) return problem;
    const value = this.#row(from).read();
    this.cards.rename(from, to);
    // The old name keeps its value: the undo of a text may bring it back, and a large text may still name it.
    this.#row(to).load(value);
    this.#row(from).toggleCard(false);
    this.texts?.rename(from, to);
    this.onChange();
    this.#row(to).focus();
    return "";
  }

  /** @returns {Record<string, string>} the values that are given, of the variables in use */
  read() {
    const given = this.names.flatMap((name) => {
      const value = this.#row(name).read();
      return value === undefined ? [] : [[name, value]];
    });
    return Object.fromEntries(given);
  }

  /** @param {string[]} names @returns {Record<string, string | undefined>} */
  valuesOf(names) {
    return Object.fromEntries(names.map((name) => [name, this.#row(name).read()]));
  }

  /** @returns {Set<string>} */
  get unset() {
    return new Set(this.names.filter((name) => this.#row(name).state === "unset"));
  }

  /** In a text and not declared, while others are. @returns {Set<string>} */
  get undeclared() {
    return new Set(this.cards.undeclared(this.names));
  }

  /** What cannot be sent. @returns {{name: string, words: string}[]} */
  get problems() {
    return this.names.flatMap((name) => {
      const words = this.#row(name).problem;
      return words ? [{ name, words }] : [];
    });
  }

  /** @param {string} name */
  focus(name) {
    this.#row(name).focus();
  }

  focusUnset() {
    const [first] = this.unset;
    if (first !== undefined) this.focus(first);
  }

  /** Opens the card of a variable at its name. @param {string} name */
  focusName(name) {
    if (this.canDeclare) this.#row(name).focusName();
  }
}
