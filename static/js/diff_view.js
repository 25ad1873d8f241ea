/* The difference between two versions, or between a version and what is not saved yet. */
import { ApiError } from "./api.js";
import { fieldTable } from "./diff_fields.js";
import { partSection } from "./diff_part.js";
import { el } from "./dom.js";

/** @typedef {{equal: boolean, fields: import("./diff_fields.js").FieldChange[], texts: import("./diff_words.js").PartDiff[]}} SpecDiff */

const SLOW_MS = 200;

export class DiffView {
  /**
   * @param {HTMLElement} root
   * @param {{textOf?: import("./diff_part.js").TextOf, level?: "h2" | "h3", onShow?: () => void}} [options] `level` of the parts' headings
   */
  constructor(root, { textOf, level = "h3", onShow = () => {} } = {}) {
    this.root = root;
    this.onShow = onShow;
    this.look = { split: false, marks: false, level, textOf };
    /** @type {SpecDiff | null} */
    this.diff = null;
    this.asked = 0;
  }

  /**
   * Shows what `load` brings, unless something newer was asked for meanwhile.
   * @param {() => Promise<SpecDiff>} load
   * @returns {Promise<SpecDiff | null>}
   */
  async fetch(load) {
    this.asked += 1;
    const { asked } = this;
    const slow = setTimeout(() => asked === this.asked && this.say("Comparing"), SLOW_MS);
    this.root.setAttribute("aria-busy", "true");
    try {
      const diff = await load();
      if (asked !== this.asked) return null;
      this.show(diff);
      return diff;
    } catch (error) {
      if (asked === this.asked) this.say(`The versions could not be compared. ${error instanceof ApiError ? error.sentence : error}`);
      return null;
    } finally {
      clearTimeout(slow);
      if (asked === this.asked) this.root.removeAttribute("aria-busy");
    }
  }

  /** @param {string} text instead of a difference; "" empties */
  say(text) {
    this.diff = null;
    this.root.replaceChildren(...(text ? [el("p", { class: "diff-said" }, text)] : []));
    this.onShow();
  }

  /** @param {SpecDiff} diff */
  show(diff) {
    this.diff = diff;
    const { fields, texts } = diff;
    const parts = texts.map((part) => partSection(part, this.look));
    const nothing = diff.equal ? [el("p", { class: "diff-said" }, "Nothing differs.")] : [];
    this.root.replaceChildren(...nothing, ...(fields.length > 0 ? [fieldTable(fields)] : []), ...parts);
    this.onShow();
  }

  /** @param {{split?: boolean, marks?: boolean}} change */
  setLook(change) {
    Object.assign(this.look, change);
    if (this.diff) this.show(this.diff);
  }
}
