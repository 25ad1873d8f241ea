/* The variables of the editor: the panel, the texts that name them, and what the editors of those texts know of them. */
import { bindKey } from "./keys.js";
import { isReference, isUnsent, textsOf } from "./large/references.js";
import { home } from "./large/text_home.js";
import { may } from "./sharing/permissions.js";
import { names, strays } from "./template.js";
import { toast } from "./toast.js";
import { variables } from "./variable_index.js";
import { VariablesPanel } from "./variables_panel.js";

/** @typedef {import("./block.js").Block} Block */

/** A longer text is not searched while somebody types. */
const SEARCHED = 4_000_000;

/** @param {Block} block what of its texts is not written out */
const largeTexts = (block) => textsOf({ messages: [{ content: block.read() ?? "" }] }).filter((text) => isReference(text) || isUnsent(text));

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
    // In a text, its editor answers; here for who stands on the row of one, and for the list of keys.
    if (may("change")) bindKey("f2", "Rename the variable at the cursor", () => this.#renameActive());
    this.marked = "";
    /** By the document of an editor, since a large one is not searched again for nothing. @type {WeakMap<object, string[]>} */
    this.namesOf = new WeakMap();
  }

  /**
   * @param {Record<string, string>} values
   * @param {import("./spec.js").VariableCard[] | undefined} cards
   */
  load(values, cards) {
    this.marked = "";
    this.panel.load(values, cards);
  }

  /** Brings the panel and the marks in the texts up to date. */
  refresh() {
    this.panel.show([...new Set(this.blocks.all.flatMap((block) => [...names(...block.texts()), ...this.#namesInLarge(block)]))], this.#strays());
    this.#index();
    const marked = [...variables.unset, "", ...variables.undeclared].join("\0") + this.blocks.all.length;
    if (marked !== this.marked) this.blocks.markUnset(variables.unset);
    this.marked = marked;
  }

  /**
   * What its large texts name: as far as is known of one elsewhere, and of one in the editor what it says now.
   * @param {Block} block
   */
  #namesInLarge(block) {
    if (largeTexts(block).length === 0) return [];
    return block.fields().flatMap(({ slot }) => {
      const { held } = slot;
      const { doc } = slot.view.state;
      if (held || doc.length > SEARCHED) return home.variablesOf(held ?? slot.read());
      const known = this.namesOf.get(doc) ?? names(slot.editor.shown);
      this.namesOf.set(doc, known);
      return known;
    });
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

  #renameActive() {
    const row = document.activeElement?.closest(".variable");
    if (row) this.panel.focusName(row.getAttribute("aria-label") ?? "");
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

  /** @param {string} name @returns {string[]} where large texts stand that may name it and are not in the page */
  #held(name) {
    return this.blocks.all.flatMap((block, place) => {
      if (largeTexts(block).length === 0) return [];
      const held = block.fields().some(({ slot }) => {
        const text = /** @type {any} */ (slot.held);
        // What a saved text names is not known before it was searched.
        return text && ((text.body !== undefined && !home.variables[text.body]) || home.variablesOf(text).includes(name));
      });
      return held ? [placeWords(place)] : [];
    });
  }

  /** @param {string} from @param {string} to */
  #rename(from, to) {
    const held = this.#held(from);
    const done = this.blocks.all.map((block) => block.rename(from, to));
    const places = done.reduce((sum, each) => sum + each.places, 0);
    const texts = done.reduce((sum, each) => sum + each.texts, 0);
    const count = `${places.toLocaleString()} ${places === 1 ? "place" : "places"}`;
    const where = texts > 1 ? `${count} of ${texts.toLocaleString()} texts` : count;
    if (held.length > 0) toast(`Renamed to ${to} in ${where}. The large text of ${held.join(", ")} is not in the page and may still name ${from}.`, { tone: "warn" });
    else toast(`Renamed ${from} to ${to} in ${where}`);
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
