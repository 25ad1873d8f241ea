/* A plain text editor (CodeMirror) that gives back exactly the text it was given, unless it was edited. */
import {
  defaultKeymap,
  EditorState,
  Compartment,
  EditorView,
  highlightSpecialChars,
  history,
  historyKeymap,
  isolateHistory,
  keymap,
  placeholder as placeholderText,
  search,
  searchKeymap,
} from "../vendor/codemirror.js";
import { nonce } from "./dom.js";
import { LONGEST_WRAPPED_LINE } from "./large/sizes.js";
import { lineEndNote, lineEndsOf } from "./line_ends.js";

/** @param {string} text */
function hasHugeLine(text) {
  return text.length > LONGEST_WRAPPED_LINE && text.split(/\r\n|\r|\n/).some((line) => line.length > LONGEST_WRAPPED_LINE);
}

// Mod-Enter and Mod-s belong to the page (run, save).
const ours = defaultKeymap.filter((binding) => binding.key !== "Mod-Enter");

export class TextEditor {
  /**
   * @param {HTMLElement} parent
   * @param {{label: string, placeholder?: string, readOnly?: boolean, onChange?: () => void, extensions?: import("../vendor/codemirror.js").Extension[]}} options
   */
  constructor(parent, { label, placeholder = "", readOnly = false, onChange = () => {}, extensions = [] }) {
    this.parent = parent;
    this.options = { label, placeholder: readOnly ? "" : placeholder, readOnly, onChange, extensions };
    this.hint = new Compartment();
    this.original = "";
    this.replaced = false;
    this.lines = lineEndsOf("");
    this.view = new EditorView({ parent, state: this.#state("") });
    this.start = this.view.state.doc;
  }

  /** @param {string} text */
  #state(text) {
    const { label, placeholder, readOnly, onChange, extensions } = this.options;
    return EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce()),
        // Still in the order of the Tab key, and its text can be selected.
        EditorState.readOnly.of(readOnly),
        readOnly ? EditorView.contentAttributes.of({ "aria-readonly": "true" }) : [],
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
        EditorView.perLineTextDirection.of(true),
        highlightSpecialChars(),
        history(),
        search({ top: true }),
        keymap.of([...historyKeymap, ...searchKeymap, ...ours]),
        hasHugeLine(text) ? [] : EditorView.lineWrapping,
        this.hint.of(placeholder ? placeholderText(placeholder) : []),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange();
        }),
        extensions,
      ],
    });
  }

  /** Replaces the text and forgets the undo history. @param {string} text */
  load(text) {
    this.original = text;
    this.replaced = false;
    this.lines = lineEndsOf(text);
    this.view.setState(this.#state(text));
    this.start = this.view.state.doc;
  }

  /** Puts a text in place of what is here, as an edit. @param {string} text */
  replace(text) {
    this.load(text);
    this.replaced = true;
    this.options.onChange();
  }

  /**
   * Changes places of the text, as one step of its undo.
   * @param {{from: number, to: number, insert: string}[]} edits positions in `shown`, before any of the edits
   */
  edit(edits) {
    this.view.dispatch({ changes: edits, annotations: isolateHistory.of("full"), userEvent: "input.replace" });
  }

  /** @param {string} words */
  set placeholder(words) {
    if (words === this.options.placeholder) return;
    this.options.placeholder = words;
    this.view.dispatch({ effects: this.hint.reconfigure(words ? placeholderText(words) : []) });
  }

  /** The text with "\n" at each end of a line: what positions in the editor count. @returns {string} */
  get shown() {
    const { doc } = this.view.state;
    return doc.sliceString(0, doc.length, "\n");
  }

  /** The text, byte for byte. @returns {string} */
  read() {
    const { doc } = this.view.state;
    if (doc.eq(this.start)) return this.original;
    return doc.sliceString(0, doc.length, this.lines.end);
  }

  /** Whether anything differs from what was loaded. */
  get edited() {
    return this.replaced || !this.view.state.doc.eq(this.start);
  }

  /** What to say about the line ends of this text; "" if nothing. */
  get note() {
    return this.lines.mixed && this.edited ? "" : lineEndNote(this.lines);
  }

  get isEmpty() {
    return this.view.state.doc.length === 0;
  }

  focus() {
    this.view.focus();
  }

  destroy() {
    this.view.destroy();
  }
}
