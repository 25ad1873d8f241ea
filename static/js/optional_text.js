/* A text that may be absent: not given, given as the empty text on purpose, or written. */
import { TextEditor } from "./text_editor.js";

export class OptionalText {
  /**
   * @param {HTMLElement} parent
   * @param {{label: string, placeholder?: string, readOnly?: boolean, onChange: () => void}} options
   */
  constructor(parent, { onChange, ...options }) {
    this.meantEmpty = false;
    this.onChange = onChange;
    this.editor = new TextEditor(parent, {
      ...options,
      onChange: () => {
        this.meantEmpty = false;
        onChange();
      },
    });
  }

  /** @param {string | undefined} value */
  load(value) {
    this.editor.load(value ?? "");
    this.meantEmpty = value === "";
  }

  /** A text in place of what is here, as an edit. @param {string} text */
  replace(text) {
    this.editor.replace(text);
    if (text === "") this.meanEmpty();
  }

  /** Says that the empty text is meant. */
  meanEmpty() {
    this.meantEmpty = true;
    this.onChange();
  }

  clear() {
    this.load(undefined);
    this.onChange();
  }

  /** @returns {string | undefined} undefined when none is given */
  read() {
    if (this.editor.isEmpty && !this.meantEmpty) return undefined;
    return this.editor.read();
  }
}
