/* Against which column the others are held: <div data-base> with a button for each and one for none. */
import { el } from "../dom.js";
import { keepChoice, keptChoice } from "../kept_choice.js";
import { PLAIN } from "./answer_view.js";
import { LETTERS } from "./overrides.js";
import { difference } from "./word_diff.js";

/** @typedef {import("./column.js").ColumnView} ColumnView */

const KEPT = "columns-base";
const NONE = "none";

const SAYS = /** @type {Record<string, (letter: string) => string>} */ ({
  equal: (letter) => `The same answer as ${letter}`,
  lines: (letter) => `Too much differs from ${letter} to mark words: lines are marked`,
  different: (letter) => `Little in common with ${letter}: nothing is marked`,
  long: (letter) => `Too long to be marked against ${letter}`,
});

export class Differences {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChoose
   */
  constructor(root, onChoose) {
    this.root = root;
    this.onChoose = onChoose;
    this.base = keptChoice(KEPT, "0");
    root.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("button");
      if (button) this.#choose(button.value);
    });
  }

  /** @param {string[]} letters of the columns */
  offer(letters) {
    if (Number(this.base) >= letters.length) this.base = "0";
    const choice = (/** @type {string} */ value, /** @type {string} */ word) => el("button", { type: "button", value }, word);
    this.root.replaceChildren(...letters.map((letter, index) => choice(String(index), letter)), choice(NONE, "Off"));
    this.#paint();
  }

  #paint() {
    for (const button of this.root.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === this.base));
  }

  /** @param {string} base */
  #choose(base) {
    this.base = base;
    keepChoice(KEPT, base);
    this.#paint();
    this.onChoose();
  }

  toggle() {
    this.#choose(this.base === NONE ? "0" : NONE);
  }

  /**
   * Marks in each answer that has ended how it differs from the base's, or says in words how it stands to it.
   * @param {ColumnView[]} columns
   */
  mark(columns) {
    const base = this.base === NONE ? undefined : columns[Number(this.base)]?.answer;
    const against = base?.isWhole && base.run?.text ? base.run : null;
    for (const column of columns) {
      const { answer } = column;
      const compares = against !== null && answer !== base && answer.isWhole && Boolean(answer.run?.text);
      if (answer.isWhole) answer.mark(compares ? against.id : PLAIN, (text) => difference(against?.text ?? "", text));
      column.paintSame(compares ? (SAYS[answer.how]?.(LETTERS[Number(this.base)]) ?? "") : "");
    }
  }
}
