/* One value of a test case in the side panel: a long text, or one that is not given, or empty on purpose. */
import { afterQuiet, el } from "../dom.js";
import { bindDropping } from "../large/dropping.js";
import { readShort } from "../large/short_file.js";
import { TextEditor } from "../text_editor.js";
import { toast } from "../toast.js";
import { shownValue } from "./case_sheet.js";

const QUIET_MS = 600;

export class ValueEditor {
  /**
   * @param {{label: string, value: unknown, readOnly: boolean, onChange: (text: string | undefined) => void}} options onChange: undefined takes the value back
   */
  constructor({ label, value, readOnly, onChange }) {
    this.onChange = onChange;
    this.changed = false;
    this.element = el("div", { class: "value-editor" });
    this.note = el("p", { class: "field-help", role: "status" });
    const box = el("div", { class: "editor-box" });
    const later = afterQuiet(() => this.flush(), QUIET_MS);
    this.editor = new TextEditor(box, {
      label,
      readOnly,
      onChange: () => {
        this.changed = true;
        this.note.textContent = "";
        later();
      },
    });
    this.editor.load(shownValue(value));
    this.changed = false;
    this.note.textContent = noteOf(value);
    this.element.append(box, this.note);
    if (!readOnly) this.#offer();
  }

  #offer() {
    const unset = el("button", { class: "button button-small", type: "button" }, "Take the value back");
    const empty = el("button", { class: "button button-small", type: "button" }, "Make it empty text");
    unset.addEventListener("click", () => this.#put(undefined));
    empty.addEventListener("click", () => this.#put(""));
    this.element.append(el("div", { class: "button-group" }, empty, unset));
    bindDropping(this.element, { onFile: (file) => void this.#take(file), onText: () => false });
  }

  /** @param {File} file */
  async #take(file) {
    try {
      this.editor.replace(await readShort(file, "A value"));
    } catch (error) {
      toast(/** @type {Error} */ (error).message, { tone: "bad" });
    }
  }

  /** @param {string | undefined} value */
  #put(value) {
    this.editor.load("");
    this.changed = false;
    this.note.textContent = noteOf(value);
    this.onChange(value);
  }

  /** Hands over what was typed. */
  flush() {
    if (!this.changed) return;
    this.changed = false;
    this.onChange(this.editor.read());
  }

  destroy() {
    this.flush();
    this.editor.destroy();
  }
}

/** @param {unknown} value */
function noteOf(value) {
  if (value === undefined || value === null) return "No value is given.";
  if (value === "") return "Empty text, on purpose.";
  return typeof value === "string" ? "" : "A JSON value, as the file had it. Written into, it becomes text.";
}
