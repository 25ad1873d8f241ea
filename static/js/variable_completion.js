/* After `{{`: the names of the prompt, to choose from by key or pointer. */
import { autocompletion, pickedCompletion, tooltips } from "../vendor/codemirror.js";
import { openName } from "./template.js";
import { variables } from "./variable_index.js";

const LOOK_BACK = 400;
const LOOK_AHEAD = 200;
const REST = /^([_\-\p{L}\p{M}\p{N}]*)([ \t\r\n]*\}\})?/u;

/**
 * What a chosen name becomes: the rest of a name that stands behind the cursor goes, braces are closed once.
 * @param {string} name
 * @param {string} blank between the open braces and the name
 * @param {string} after the text behind the cursor
 * @returns {{insert: string, replaced: number, cursor: number}} replaced: characters behind the cursor
 */
export function completedName(name, blank, after) {
  const [, rest, closing] = /** @type {RegExpExecArray} */ (REST.exec(after));
  const end = closing ?? `${blank}}}`;
  // A name that follows and is not closed belongs to the text.
  const replaced = closing === undefined ? 0 : rest.length + closing.length;
  return { insert: name + end, replaced, cursor: name.length + end.length };
}

/** @param {string} name @param {string} blank */
function applyName(name, blank) {
  return (
    /** @type {import("../vendor/codemirror.js").EditorView} */ view,
    /** @type {import("../vendor/codemirror.js").Completion} */ chosen,
    /** @type {number} */ from,
    /** @type {number} */ to,
  ) => {
    const after = view.state.sliceDoc(to, Math.min(view.state.doc.length, to + LOOK_AHEAD));
    const { insert, replaced, cursor } = completedName(name, blank, after);
    view.dispatch({
      changes: { from, to: to + replaced, insert },
      selection: { anchor: from + cursor },
      annotations: pickedCompletion.of(chosen),
      userEvent: "input.complete",
      scrollIntoView: true,
    });
  };
}

/** @param {import("../vendor/codemirror.js").CompletionContext} context */
function offerNames(context) {
  const { state, pos } = context;
  const open = openName(state.sliceDoc(Math.max(0, pos - LOOK_BACK), pos));
  if (!open || variables.offers.length === 0) return null;
  const options = variables.offers.map(({ name, detail, info, boost }) => ({ label: name, detail, info: info || undefined, boost, apply: applyName(name, open.blank) }));
  return { from: pos - open.typed.length, options, validFor: /^[_\-\p{L}\p{M}\p{N}]*$/u };
}

const popup = autocompletion({ override: [offerNames], icons: false, tooltipClass: () => "variable-completion" });

/* In the body of the page: a block may cut off what hangs out of it. */
export const completion = [popup, typeof document === "undefined" ? [] : tooltips({ parent: document.body })];
