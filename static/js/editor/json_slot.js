/* A place for one JSON value: the very value as long as nobody edits it, else what its text says. */
import { TextSlot } from "../large/text_slot.js";

export class JsonSlot {
  /**
   * @param {HTMLElement} parent
   * @param {any} value
   * @param {{label: string, onChange: () => void}} options
   */
  constructor(parent, value, { label, onChange }) {
    this.value = value;
    this.slot = new TextSlot(parent, { label, placeholder: "{}", onChange });
    this.slot.load(JSON.stringify(value, null, 2) ?? "");
  }

  /** @returns {any} the text itself where it is no JSON, for the server to refuse by its place */
  read() {
    if (!this.slot.edited) return this.value;
    const text = this.slot.read();
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  /** What is wrong with the text; "" if nothing. */
  get problem() {
    if (!this.slot.edited) return "";
    try {
      JSON.parse(this.slot.read());
      return "";
    } catch (error) {
      return `Not JSON yet: ${/** @type {Error} */ (error).message}`;
    }
  }
}
