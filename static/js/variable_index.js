/* What is known of the variables of the open prompt, for the editors of its texts: one for the page. */

/** @typedef {{name: string, detail: string, info: string, boost: number}} Offer boost: what is in use goes before the rest */

class VariableIndex {
  constructor() {
    /** Names in the texts and declared ones, for completion. @type {Offer[]} */
    this.offers = [];
    /** Without a value. @type {Set<string>} */
    this.unset = new Set();
    /** In a text, while others are declared and this one is not. @type {Set<string>} */
    this.undeclared = new Set();
    /** Asks for another name of a variable. @type {(name: string) => void} */
    this.onRename = () => {};
  }

  /** @param {string} name @returns {string} what to say of it where it stands; "" for nothing */
  words(name) {
    if (this.unset.has(name)) return `${name} has no value yet`;
    return this.undeclared.has(name) ? `${name} is not declared; others are` : "";
  }
}

export const variables = new VariableIndex();
