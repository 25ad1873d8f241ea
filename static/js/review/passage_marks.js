/* Passages with comments, marked in an editor. They move with what is written around them until the version is saved. */
import { Decoration, EditorView, StateEffect, StateField } from "../../vendor/codemirror.js";

/** @typedef {{from: number, to: number, id: string, state: string}} Mark */

/** @type {import("../../vendor/codemirror.js").StateEffectType<Mark[]>} */
const setMarks = StateEffect.define();

/** @param {Mark[]} marks */
function decorations(marks) {
  const ranges = marks.map(({ from, to, id, state }) =>
    Decoration.mark({ class: `passage is-${state}`, attributes: { "data-passage": id } }).range(from, to),
  );
  return Decoration.set(ranges, true);
}

const field = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    let now = marks.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setMarks)) now = decorations(effect.value);
    return now;
  },
  provide: (self) => EditorView.decorations.from(self),
});

/**
 * @param {import("../../vendor/codemirror.js").EditorView} view
 * @param {Mark[]} marks
 */
export function markPassages(view, marks) {
  // Loading another text makes the editor anew, without what was added to it.
  const effects = view.state.field(field, false) ? [] : [StateEffect.appendConfig.of(field)];
  view.dispatch({ effects: [...effects, setMarks.of(marks.filter(({ from, to }) => from < to && to <= view.state.doc.length))] });
}
