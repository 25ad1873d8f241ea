/* One set of values for all columns: the variables of every version that a column shows. */
import { one } from "../dom.js";
import { PastValuesMenu } from "../past_values.js";
import { toast } from "../toast.js";
import { ValueKeeper } from "../value_keeper.js";
import { VariablesPanel } from "../variables_panel.js";

/** @typedef {import("../spec.js").Spec} Spec */
/** @typedef {{spec: Spec, variables_used: string[]}} Version */

/**
 * The names that some versions use, in order of first appearance, and what is declared of them: the first card counts.
 * @param {Version[]} versions
 */
export function union(versions) {
  const names = [...new Set(versions.flatMap((version) => version.variables_used))];
  const cards = versions.flatMap((version) => version.spec.variables ?? []).filter((card) => names.includes(card.name));
  const first = cards.filter((card, index) => cards.findIndex(({ name }) => name === card.name) === index);
  return { names, cards: first };
}

export class SharedValues {
  /**
   * @param {string} promptId
   * @param {() => void} onChange
   */
  constructor(promptId, onChange) {
    this.onChange = onChange;
    /** @type {string[]} */
    this.names = [];
    this.cards = "";
    /** Values that only belong to a comparison are no wish to keep them. */
    this.isTyped = false;
    const changed = () => {
      this.isTyped = true;
      this.onChange();
    };
    const root = one("[data-variables]", document, HTMLElement);
    this.panel = new VariablesPanel(root, changed, { cards: "read" });
    this.keeper = new ValueKeeper(promptId, { settle: () => this.#keep() });
    this.past = new PastValuesMenu(promptId, root, (values) => this.#fill(values));
  }

  /** @param {Record<string, string> | null} given those of a comparison; null for the ones that the person keeps */
  async start(given) {
    const kept = await this.keeper.meet();
    if (given) this.panel.fill(given);
    else this.panel.fillUnset(kept);
    this.isTyped = false;
  }

  /** @param {Record<string, string>} values */
  #fill(values) {
    const before = this.panel.valuesOf(Object.keys(values));
    this.panel.fill(values);
    this.onChange();
    return () => {
      this.panel.fill(before);
      this.onChange();
    };
  }

  /** @param {Version[]} versions */
  show(versions) {
    const { names, cards } = union(versions);
    this.names = names;
    // Cards that are loaded again would lose nothing, but a row that is being typed in keeps its place.
    if (JSON.stringify(cards) !== this.cards) this.panel.load({}, cards.length > 0 ? cards : undefined);
    this.cards = JSON.stringify(cards);
    this.panel.show(names);
    this.#keep();
  }

  #keep() {
    if (this.isTyped) this.keeper.note(this.names, this.read());
  }

  /** @returns {Record<string, string>} */
  read() {
    return this.panel.read();
  }

  /** Whether the values can be sent; what is missing gets the focus and a word. */
  check() {
    const { unset, problems } = this.panel;
    if (unset.size > 0) {
      toast(`Give a value to ${[...unset].join(", ")} first, or send it as empty text.`, { tone: "warn" });
      this.panel.focusUnset();
      return false;
    }
    if (problems.length > 0) {
      toast(`${problems[0].name}: ${problems[0].words}`, { tone: "warn" });
      this.panel.focus(problems[0].name);
      return false;
    }
    return true;
  }
}
