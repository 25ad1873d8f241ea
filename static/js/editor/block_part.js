/* One content block of a message: a text, a tool call, a result, or anything else as the JSON it is. */
import { el, fromTemplate, one } from "../dom.js";
import { isReference } from "../large/references.js";
import { TextSlot } from "../large/text_slot.js";
import { may } from "../sharing/permissions.js";
import { variablePills } from "../variable_pills.js";
import { summaryOf, titleOf } from "./content_blocks.js";
import { JsonSlot } from "./json_slot.js";

/** @typedef {import("./content_blocks.js").ContentBlock} ContentBlock */
/** @typedef {{onChange: () => void, onMove: (part: BlockPart, step: number) => void, onRemove: (part: BlockPart) => void}} PartParent */

/** @param {any} value @returns {value is string | import("../large/references.js").Reference} */
const isText = (value) => typeof value === "string" || isReference(value);

export class BlockPart {
  /**
   * @param {ContentBlock} block
   * @param {PartParent} parent
   */
  constructor(block, parent) {
    this.block = block;
    this.parent = parent;
    this.element = fromTemplate("block-part");
    /** The text of it that takes variables. @type {TextSlot | null} */
    this.text = null;
    /** What is edited as JSON, and the field it is; "" for the whole block. @type {{slot: JsonSlot, field: string} | null} */
    this.json = null;
    /** Inputs by the field they are about. @type {Record<string, HTMLInputElement>} */
    this.inputs = {};
    this.element.dataset.type = block?.type;
    one("[data-part-title]", this.element).textContent = titleOf(block);
    this.#bind();
    this.#fill();
  }

  #bind() {
    const on = (/** @type {string} */ selector, /** @type {() => void} */ action) => one(selector, this.element).addEventListener("click", action);
    on("[data-part-up]", () => this.parent.onMove(this, -1));
    on("[data-part-down]", () => this.parent.onMove(this, 1));
    on("[data-part-remove]", () => this.parent.onRemove(this));
    one("[data-part-tools]", this.element, HTMLElement).hidden = !may("change");
  }

  #fill() {
    const { block } = this;
    if (block?.type === "text" && isText(block.text)) this.#textIn(block.text, "Text");
    else if (block?.type === "tool_result" && (block.content === undefined || isText(block.content))) this.#fillResult();
    else if (block?.type === "tool_use" && block.input && typeof block.input === "object") this.#fillCall();
    else this.#fillOther();
  }

  #changed = () => {
    this.showError("");
    this.#paint();
    this.parent.onChange();
  };

  /** @param {any} text @param {string} label */
  #textIn(text, label) {
    this.text = new TextSlot(one("[data-part-body]", this.element), { label, placeholder: "", onChange: this.#changed, extensions: [variablePills] });
    this.text.load(text);
  }

  /** @param {any} value @param {string} field @param {string} label @param {HTMLElement} [place] */
  #jsonIn(value, field, label, place = one("[data-part-body]", this.element, HTMLElement)) {
    this.json = { field, slot: new JsonSlot(place, value, { label, onChange: this.#changed }) };
  }

  /** @param {string} field @param {string} label @param {string} value */
  #input(field, label, value) {
    const input = el("input", { type: "text", class: "input", value, "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", disabled: !may("change") });
    input.addEventListener("input", this.#changed);
    this.inputs[field] = input;
    one("[data-part-fields]", this.element).append(input);
  }

  #fillResult() {
    this.#input("tool_use_id", "Id of the call", this.block.tool_use_id ?? "");
    const box = el("input", { type: "checkbox", checked: this.block.is_error === true, disabled: !may("change") });
    box.addEventListener("change", this.#changed);
    this.inputs.is_error = box;
    one("[data-part-fields]", this.element).append(el("label", { class: "field-check" }, box, "An error"));
    this.#textIn(this.block.content ?? "", "Result");
  }

  #fillCall() {
    this.#input("name", "Name of the tool", this.block.name ?? "");
    this.#input("id", "Id of the call", this.block.id ?? "");
    this.#jsonIn(this.block.input, "input", "Input, JSON");
  }

  /* Pictures are long and thoughts are not to be touched: their JSON is behind a fold. */
  #fillOther() {
    const summary = summaryOf(this.block);
    const place = el("div", {});
    const isOpen = !summary;
    const fold = el("details", { class: "part-fold", open: isOpen }, el("summary", {}, "As JSON"), place);
    one("[data-part-body]", this.element).append(fold);
    const make = () => this.json ?? this.#jsonIn(this.block, "", `${titleOf(this.block)}, JSON`, place);
    if (isOpen) make();
    fold.addEventListener("toggle", () => fold.open && make());
    this.#paint();
  }

  #paint() {
    const summary = one("[data-part-summary]", this.element, HTMLElement);
    summary.textContent = summaryOf(this.read());
    summary.hidden = summary.textContent === "";
    const problem = this.json?.slot.problem ?? "";
    if (problem) this.showError(problem);
  }

  /** The block as the API takes it: the very one that came, as long as nothing of it is changed. @returns {any} */
  read() {
    if (this.json && !this.json.field) return this.json.slot.read();
    const changes = { ...this.#typed(), ...this.#written() };
    return Object.keys(changes).length > 0 ? { ...this.block, ...changes } : this.block;
  }

  #typed() {
    /** @type {Record<string, any>} */
    const changes = {};
    for (const [field, input] of Object.entries(this.inputs)) {
      const value = input.type === "checkbox" ? input.checked : input.value;
      const saved = this.block[field] ?? (input.type === "checkbox" ? false : "");
      if (value !== saved) changes[field] = value;
    }
    return changes;
  }

  #written() {
    /** @type {Record<string, any>} */
    const changes = {};
    if (this.json) {
      const value = this.json.slot.read();
      if (value !== this.block[this.json.field]) changes[this.json.field] = value;
    }
    if (this.text) {
      const field = this.block.type === "text" ? "text" : "content";
      const value = this.text.read();
      if (value !== (this.block[field] ?? "")) changes[field] = value;
    }
    return changes;
  }

  /** @returns {TextSlot[]} */
  get slots() {
    return [this.text, this.json?.slot.slot].filter((slot) => slot !== null && slot !== undefined);
  }

  /** @param {string} message "" clears it */
  showError(message) {
    const problem = one("[data-part-error]", this.element, HTMLElement);
    problem.textContent = message;
    problem.hidden = !message;
  }

  /** @param {number} index @param {number} count */
  setPlace(index, count) {
    one("[data-part-up]", this.element, HTMLButtonElement).disabled = index === 0;
    one("[data-part-down]", this.element, HTMLButtonElement).disabled = index === count - 1;
    one("[data-part-remove]", this.element, HTMLButtonElement).disabled = count === 1;
  }

  focus() {
    const first = Object.values(this.inputs).find((input) => input.value === "" && input.type === "text");
    if (first) first.focus();
    else if (this.slots.length > 0) this.slots[0].focus();
    else one("summary", this.element, HTMLElement).focus();
  }

  remove() {
    for (const slot of this.slots) slot.destroy();
    this.element.remove();
  }
}
