/* What a version declares of its variables: type, default, description. Plain data: no document here. */
import { normalName } from "./template.js";
import { canonical } from "./spec.js";

/** @typedef {import("./spec.js").VariableCard} VariableCard */
/** @typedef {"text" | "json" | "file"} VariableType */
/** @typedef {{name: string, type: VariableType, default?: string, description: string}} Card default: absent for none, "" for the empty text */

/** @param {VariableCard} card @returns {Card} as the server keeps it */
function complete(card) {
  const { name, type = "text", default: given, description = "" } = card;
  const whole = /** @type {Card} */ ({ name: normalName(name) ?? name, type, description });
  if (given !== undefined && given !== null) whole.default = given;
  return whole;
}

/** @param {Card} card @returns {boolean} whether it says anything */
function says(card) {
  return card.type !== "text" || card.default !== undefined || card.description !== "";
}

/**
 * What is wrong with a new name of a variable.
 * @param {string} written
 * @param {string} now the name it has
 * @param {Iterable<string>} taken
 * @returns {string} "" for nothing
 */
export function renameProblem(written, now, taken) {
  const name = normalName(written);
  if (written.trim() === "") return "A variable needs a name.";
  if (name === null) return [...written.trim()].length > 100 ? "A name has at most 100 characters." : "A name is made of letters, digits, _ and -, without blanks.";
  if (name !== now && [...taken].includes(name)) return `There is already a variable ${name}. Choose another name.`;
  return "";
}

/**
 * @param {string} text
 * @returns {string} why it is not JSON, with the place; "" if it is
 */
export function jsonProblem(text) {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const at = /position (\d+)/.exec(message)?.[1];
    if (at === undefined || /line \d+/.test(message)) return `Not JSON yet: ${message}.`;
    const before = text.slice(0, Number(at)).split("\n");
    return `Not JSON yet: ${message} (line ${before.length}, column ${(before.at(-1) ?? "").length + 1}).`;
  }
}

export class CardSet {
  constructor() {
    /** @type {VariableCard[] | undefined} */
    this.saved = undefined;
    /** @type {Map<string, Card>} */
    this.cards = new Map();
    this.before = "";
    /** Renamed since the version was loaded: the undo of a text may take one back. @type {[string, string][]} */
    this.renames = [];
  }

  /** @param {VariableCard[] | undefined} saved */
  load(saved) {
    this.saved = saved;
    this.renames = [];
    this.cards = new Map((saved ?? []).map((card) => [normalName(card.name) ?? card.name, complete(card)]));
    // Of two cards of one name the last counts; a version is no longer saved with both.
    this.before = canonical((saved ?? []).map(complete));
  }

  /** @returns {VariableCard[] | undefined} for the spec: as it was loaded, unless something of it was changed */
  read() {
    const cards = [...this.cards.values()];
    if (canonical(cards) === this.before) return this.saved;
    return cards.length > 0 ? cards : undefined;
  }

  /** @param {string} name */
  has(name) {
    return this.cards.has(name);
  }

  /** @param {string} name @returns {Card} an empty one for a variable that is only used */
  get(name) {
    return this.cards.get(name) ?? { name, type: "text", description: "" };
  }

  get names() {
    return [...this.cards.keys()];
  }

  /**
   * Changes a card; one that says nothing and never did is none.
   * @param {string} name
   * @param {Partial<Omit<Card, "name">>} change a default of undefined takes it away
   */
  change(name, change) {
    const card = complete({ ...this.get(name), ...change });
    const wasSaved = (this.saved ?? []).some((each) => normalName(each.name) === name);
    if (says(card) || wasSaved) this.cards.set(name, card);
    else this.cards.delete(name);
  }

  /** @param {string} name */
  declare(name) {
    this.cards.set(name, this.get(name));
  }

  /** @param {string} name */
  remove(name) {
    this.cards.delete(name);
  }

  /** The card goes with the name and keeps its place. @param {string} from @param {string} to */
  rename(from, to) {
    this.renames.push([from, to]);
    this.#move(from, to);
  }

  /** @param {string} from @param {string} to */
  #move(from, to) {
    if (!this.cards.has(from) || this.cards.has(to)) return false;
    this.cards = new Map([...this.cards].map(([name, card]) => (name === from ? [to, { ...card, name: to }] : [name, card])));
    return true;
  }

  /**
   * Follows the undo and redo of a rename in the texts: a card whose name is in no text goes to the other name.
   * @param {string[]} used
   */
  follow(used) {
    for (const pair of this.renames.toReversed()) {
      const [here, gone] = used.includes(pair[0]) ? pair : [pair[1], pair[0]];
      if (used.includes(here) && !used.includes(gone)) this.#move(gone, here);
    }
  }

  /** @param {string[]} used @returns {string[]} declared names that stand in no text */
  unused(used) {
    return this.names.filter((name) => !used.includes(name));
  }

  /** @param {string[]} used @returns {string[]} names of the texts that are not declared, where others are */
  undeclared(used) {
    return this.cards.size === 0 ? [] : used.filter((name) => !this.cards.has(name));
  }
}
