/* Marks `{{name}}` in an editor: a pill, amber while the variable has no value. */
import { Decoration, RangeSetBuilder, StateEffect, ViewPlugin } from "../vendor/codemirror.js";
import { placeholders } from "./template.js";

/* Larger texts are read only around what is visible. */
const READ_WHOLE = 200_000;
const AROUND = 5_000;

/** Tells an editor which variables have no value. @type {import("../vendor/codemirror.js").StateEffectType<Set<string>>} */
const setUnset = StateEffect.define();

const pill = Decoration.mark({ class: "cm-variable" });
const unsetPill = Decoration.mark({ class: "cm-variable is-unset" });

/**
 * @param {import("../vendor/codemirror.js").EditorView} view
 * @param {Set<string>} unset
 */
function decorate(view, unset) {
  const builder = new RangeSetBuilder();
  const { doc } = view.state;
  // Not the viewport: it may be one line of many megabytes.
  const ranges = doc.length <= READ_WHOLE ? [{ from: 0, to: doc.length }] : view.visibleRanges;
  let done = 0;
  for (const range of ranges) {
    const from = Math.max(done, range.from - AROUND);
    done = Math.min(doc.length, range.to + AROUND);
    for (const { name, start, end } of placeholders(doc.sliceString(from, done, "\n"))) {
      builder.add(from + start, from + end, unset.has(name) ? unsetPill : pill);
    }
  }
  return /** @type {import("../vendor/codemirror.js").DecorationSet} */ (builder.finish());
}

export const variablePills = ViewPlugin.fromClass(
  class {
    /** @param {import("../vendor/codemirror.js").EditorView} view */
    constructor(view) {
      /** @type {Set<string>} */
      this.unset = new Set();
      this.decorations = decorate(view, this.unset);
    }

    /** @param {import("../vendor/codemirror.js").ViewUpdate} update */
    update(update) {
      let told = false;
      for (const effect of update.transactions.flatMap((transaction) => transaction.effects)) {
        if (!effect.is(setUnset)) continue;
        this.unset = effect.value;
        told = true;
      }
      if (told || update.docChanged || update.viewportChanged) this.decorations = decorate(update.view, this.unset);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/**
 * @param {import("../vendor/codemirror.js").EditorView} view
 * @param {Set<string>} unset
 */
export function markUnset(view, unset) {
  view.dispatch({ effects: setUnset.of(unset) });
}
