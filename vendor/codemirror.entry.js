/* What our own modules may import from CodeMirror; everything else is left out of the bundle. */
export { Annotation, Compartment, EditorState, Prec, RangeSetBuilder, StateEffect, StateField, Transaction } from "@codemirror/state";
export {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  placeholder,
  tooltips,
  ViewPlugin,
  WidgetType,
} from "@codemirror/view";
export { autocompletion, pickedCompletion, startCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, isolateHistory, redo, undo } from "@codemirror/commands";
export { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
