/* The variables of the editor: the panel, the texts that name them, and what the editors of those texts know of them. */
import { isReference, isUnsent, textsOf } from "./large/references.js";
import { home } from "./large/text_home.js";
import { may } from "./sharing/permissions.js";
import { promptTexts } from "./spec.js";
import { names, strays } from "./template.js";
import { toast } from "./toast.js";
import { variables } from "./variable_index.js";
import { mentions, renameInTexts } from "./variable_rename.js";
import { VariablesPanel } from "./variables_panel.js";

/** @typedef {import("./spec.js").Spec} Spec */
/** @typedef {import("./block.js").Block} Block */

/** Beyond this, a text is not searched for what only looks like a variable. */
const SEARCHED = 2_000_000;

/** @param {Spec} spec what of its texts is not written out */
const largeTexts = (spec) => textsOf(spec).filter((text) => isReference(text) || isUnsent(text));

/** @param {number} place among the blocks, the system text first */
const placeWords = (place) => (place === 0 ? "system" : `message ${place}`);

/** @param {string} text @param {number} at */
const lineOf = (text, at) => text.slice(0, at).split(/\r\n|\r|\n/).length;

export class VariableDesk {
  /**
   * @param {HTMLElement} root of the panel
   * @param {import("./blocks.js").Blocks} blocks
   * @param {() => void} onChange
   */
  constructor(root, blocks, onChange) {
    this.blocks = blocks;
    this.onChange = onChange;
    this.panel = new VariablesPanel(root, onChange, { cards: may("change") ? "edit" : "read" });
    this.panel.texts = { rename: (from, to) => this.#rename(from, to), held: (name) => this.#held(name) };
    variables.onRename = (name) => this.panel.focusName(name);
    this.marked = "";
  }

  /**
   * @param {Record<string, string>} values
   * @param {import("./spec.js").VariableCard[] | undefined} cards
   */
  load(values, cards) {
    this.marked = "";
    this.panel.load(values, cards);
  }

  /** Brings the panel and the marks in the texts up to date. @param {Spec} spec */
  refresh(spec) {
    const used = [...new Set([...names(...promptTexts(spec)), ...largeTexts(spec).flatMap((text) => home.variablesOf(text))])];
    this.panel.show(used, this.#strays());
    this.#index();
    const marked = [...variables.unset, "", ...variables.undeclared].join("\0") + this.blocks.all.length;
    if (marked !== this.marked) this.blocks.markUnset(variables.unset);
    this.marked = marked;
  }

  #index() {
    const { panel } = this;
    variables.unset = panel.unset;
    variables.undeclared = panel.undeclared;
    variables.offers = [...panel.names, ...panel.unusedNames].map((name) => ({
      name,
      detail: panel.unusedNames.includes(name) ? "in no text yet" : variables.unset.has(name) ? "unset" : "",
      info: panel.cards.get(name).description,
      boost: panel.unusedNames.includes(name) ? 0 : 1,
    }));
  }

  /** @returns {import("./variables_panel.js").PlacedStray[]} */
  #strays() {
    return this.blocks.all.flatMap((block, place) =>
      block.texts().flatMap((text) => {
        if (!text.includes("{{") || text.length > SEARCHED) return [];
        return strays(text).map((stray, index) => ({ ...stray, where: placeWords(place), line: () => lineOf(text, stray.start), open: () => this.#open(block, stray.raw, index) }));
      }),
    );
  }

  /** @param {Block} block @param {string} raw @param {number} index which one of its text */
  #open(block, raw, index) {
    const slot = block.fields().find((field) => field.slot.editor.shown.includes(raw))?.slot;
    if (!slot) return;
    const found = strays(slot.editor.shown);
    const stray = found[index]?.raw === raw ? found[index] : found.find((each) => each.raw === raw);
    if (stray) slot.view.dispatch({ selection: { anchor: stray.start, head: stray.end }, scrollIntoView: true });
    slot.focus();
  }

  /**
   * The texts that name a variable, or may: of 2,000 messages, only those get an editor now.
   * @param {string} name
   */
  #fieldsNaming(name) {
    return this.blocks.all.flatMap((block, place) => {
      const isLarge = largeTexts({ messages: [{ role: "user", content: block.read() ?? "" }] }).length > 0;
      if (!isLarge && !block.texts().some((text) => mentions(text, name))) return [];
      return block.fields().map((field) => ({ ...field, label: placeWords(place) }));
    });
  }

  /** @param {string} name @returns {string[]} where large texts stand that may name it and are not in the page */
  #held(name) {
    const held = this.#fieldsNaming(name).filter(({ slot }) => {
      const text = /** @type {any} */ (slot.held);
      // What a saved text names is not known before it was searched.
      return text && ((text.body !== undefined && !home.variables[text.body]) || home.variablesOf(text).includes(name));
    });
    return [...new Set(held.map(({ label }) => label))];
  }

  /** @param {string} from @param {string} to */
  #rename(from, to) {
    const held = this.#held(from);
    const { places, texts } = renameInTexts(this.#fieldsNaming(from), from, to);
    const count = `${places.toLocaleString()} ${places === 1 ? "place" : "places"}`;
    const done = texts > 1 ? `${count} of ${texts} texts` : count;
    if (held.length > 0) toast(`Renamed to ${to} in ${done}. The large text of ${held.join(", ")} is not in the page and may still name ${from}.`, { tone: "warn" });
    else toast(`Renamed ${from} to ${to} in ${done}`);
  }

  /** The declared cards, as the spec of a version has them; undefined for none. */
  get cards() {
    return this.panel.cards.read();
  }

  /**
   * Fills in values, such as those of a past run. One that is the default stays the default.
   * @param {Record<string, string>} values
   * @returns {() => void} the way back
   */
  fill(values) {
    const { panel } = this;
    const before = panel.valuesOf(Object.keys(values));
    panel.fill(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, panel.cards.get(name).default === value ? undefined : value])));
    this.onChange();
    return () => {
      panel.fill(before);
      this.onChange();
    };
  }
}
