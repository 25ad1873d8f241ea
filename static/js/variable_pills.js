/* Marks `{{name}}` in an editor: a pill, amber while it has no value, dotted where it only looks like a variable. */
import { Decoration, keymap, RangeSetBuilder, StateEffect, ViewPlugin } from "../vendor/codemirror.js";
import { placeholders, strays } from "./template.js";
import { completion } from "./variable_completion.js";
import { variables } from "./variable_index.js";

/* Larger texts are read only around what is visible. */
const READ_WHOLE = 20_000;
const AROUND = 5_000;

/** Tells an editor that the index has changed. @type {import("../vendor/codemirror.js").StateEffectType<Set<string>>} */
const repaint = StateEffect.define();

const plainPill = Decoration.mark({ class: "cm-variable" });
const strayMarks = {
  unclosed: Decoration.mark({ class: "cm-stray", attributes: { title: "Not closed: }} is missing. Sent as written" } }),
  name: Decoration.mark({ class: "cm-stray", attributes: { title: "Not a variable: a name has letters, digits, _ and - only. Sent as written" } }),
};

/** @param {string} name */
function pillOf(name) {
  const title = variables.words(name);
  if (!title) return plainPill;
  const kind = variables.unset.has(name) ? "is-unset" : "is-undeclared";
  return Decoration.mark({ class: `cm-variable ${kind}`, attributes: { title } });
}

/** @param {string} text @param {boolean} isWhole a part may begin or end in the middle of a variable */
function marksOf(text, isWhole) {
  const pills = placeholders(text).map(({ name, start, end }) => ({ start, end, mark: pillOf(name) }));
  const others = strays(text).filter(({ start, end }) => isWhole || (start > 1 && end < text.length));
  const marks = [...pills, ...others.map(({ kind, start, end }) => ({ start, end, mark: strayMarks[kind] }))];
  return marks.sort((a, b) => a.start - b.start);
}

/** @param {import("../vendor/codemirror.js").EditorView} view */
function decorate(view) {
  const builder = new RangeSetBuilder();
  const { doc } = view.state;
  const isWhole = doc.length <= READ_WHOLE;
  // Not the viewport: it may be one line of many megabytes.
  const ranges = isWhole ? [{ from: 0, to: doc.length }] : view.visibleRanges;
  let done = 0;
  for (const range of ranges) {
    const from = Math.max(done, range.from - AROUND);
    done = Math.min(doc.length, range.to + AROUND);
    for (const { start, end, mark } of marksOf(doc.sliceString(from, done, "\n"), isWhole)) builder.add(from + start, from + end, mark);
  }
  return /** @type {import("../vendor/codemirror.js").DecorationSet} */ (builder.finish());
}

const pills = ViewPlugin.fromClass(
  class {
    /** @param {import("../vendor/codemirror.js").EditorView} view */
    constructor(view) {
      this.decorations = decorate(view);
    }

    /** @param {import("../vendor/codemirror.js").ViewUpdate} update */
    update(update) {
      const told = update.transactions.some(({ effects }) => effects.some((effect) => effect.is(repaint)));
      if (told || update.docChanged || update.viewportChanged) this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** @param {import("../vendor/codemirror.js").EditorView} view */
function renameHere(view) {
  const { doc, selection } = view.state;
  const at = selection.main.head;
  const from = Math.max(0, at - AROUND);
  const near = doc.sliceString(from, Math.min(doc.length, at + AROUND), "\n");
  const place = placeholders(near).find(({ start, end }) => from + start <= at && at <= from + end);
  if (!place) return false;
  variables.onRename(place.name);
  return true;
}

/** For every text that takes variables. @type {import("../vendor/codemirror.js").Extension} */
export const variablePills = [pills, completion, keymap.of([{ key: "F2", run: renameHere }])];

/**
 * Paints anew what the index says of each name.
 * @param {import("../vendor/codemirror.js").EditorView} view
 * @param {Set<string>} unset
 */
export function markUnset(view, unset) {
  view.dispatch({ effects: repaint.of(unset) });
}
