/* The checks of a new batch: a small form for each, its sentence above it. */
import { el, icon } from "../dom.js";
import { checkWords, kindOf, KINDS, loadedCheck, newCheck, problemOf } from "./check_kinds.js";

/** @typedef {import("./check_kinds.js").Check} Check */
/** @typedef {import("./check_kinds.js").Field} Field */

export const MOST_CHECKS = 10;
let fields = 0;

export class CheckList {
  /**
   * @param {HTMLElement} root
   * @param {{list: HTMLElement, kinds: HTMLElement, none: HTMLElement}} parts
   * @param {() => void} onChange
   */
  constructor(root, { list, kinds, none }, onChange) {
    this.root = root;
    this.list = list;
    this.none = none;
    this.onChange = onChange;
    /** @type {Check[]} */
    this.checks = [];
    /** Whether what is missing is said: not while somebody has not written anything yet. */
    this.isStrict = false;
    this.kinds = KINDS.map(({ kind, label, about }) => {
      const button = el("button", { class: "chip check-kind", type: "button", title: about }, label);
      button.addEventListener("click", () => this.#add(newCheck(kind)));
      return button;
    });
    kinds.append(...this.kinds);
    this.#paint();
  }

  /** @param {Check[]} checks */
  load(checks) {
    this.checks = checks.map(loadedCheck);
    this.#paint();
  }

  /** @param {Check} check */
  #add(check) {
    if (this.checks.length >= MOST_CHECKS) return;
    this.checks.push(check);
    this.#paint();
    this.onChange();
    const field = this.list.lastElementChild?.querySelector(":is(input, textarea, select)") ?? this.list.lastElementChild?.querySelector("button");
    if (field instanceof HTMLElement) field.focus();
  }

  /** @returns {boolean} whether all can be sent; shows what is wrong with those that cannot */
  review() {
    this.isStrict = true;
    for (const [index, check] of this.checks.entries()) this.showProblem(index, problemOf(check));
    const first = this.checks.findIndex((check) => problemOf(check) !== "");
    const field = this.list.children[first]?.querySelector("input, textarea");
    if (field instanceof HTMLElement) field.focus();
    return first < 0;
  }

  /** @param {number} index @param {string} problem */
  showProblem(index, problem) {
    const place = this.list.children[index]?.querySelector("[data-check-problem]");
    if (!(place instanceof HTMLElement)) return;
    place.textContent = problem;
    place.hidden = problem === "";
  }

  #paint() {
    this.list.replaceChildren(...this.checks.map((check, index) => this.#item(check, index)));
    this.none.hidden = this.checks.length > 0;
    for (const button of this.kinds) button.disabled = this.checks.length >= MOST_CHECKS;
  }

  /** @param {Check} check @param {number} index */
  #item(check, index) {
    const words = el("span", { class: "check-words", dir: "auto" }, checkWords(check));
    const remove = el("button", { class: "button button-quiet button-icon button-small", type: "button", "aria-label": `Remove: ${checkWords(check)}`, title: "Remove this check" }, icon("x"));
    remove.addEventListener("click", () => this.#remove(index));
    const changed = () => {
      words.textContent = checkWords(check);
      if (this.isStrict || problemOf(check) === "") this.showProblem(index, problemOf(check));
      this.onChange();
    };
    const boxes = kindOf(check.kind).fields.map((field) => this.#field(check, field, changed));
    const problem = el("p", { class: "field-error", role: "alert", "data-check-problem": true, hidden: true });
    return el("li", { class: "check" }, el("div", { class: "check-head" }, words, remove), ...(boxes.length > 0 ? [el("div", { class: "check-fields" }, ...boxes)] : []), problem);
  }

  /** @param {number} index */
  #remove(index) {
    this.checks.splice(index, 1);
    this.#paint();
    this.onChange();
    this.kinds[0].focus();
  }

  /** @param {Check} check @param {Field} field @param {() => void} changed */
  #field(check, field, changed) {
    const id = `check-field-${(fields += 1)}`;
    const control = controlFor(field, check[field.key], id);
    control.addEventListener("input", () => {
      check[field.key] = readControl(control, field);
      changed();
    });
    if (field.type === "flag") return el("label", { class: "field-check" }, control, field.label);
    const help = field.help ? [el("p", { class: "field-help", id: `${id}-help` }, field.help)] : [];
    if (field.help) control.setAttribute("aria-describedby", `${id}-help`);
    const label = el("label", { for: id }, field.label, ...(field.optional ? [el("span", { class: "field-optional" }, "optional")] : []));
    return el("div", { class: `field is-${field.type}` }, label, control, ...help);
  }
}

/** @param {Field} field @param {unknown} value @param {string} id */
function controlFor({ type, placeholder, choices }, value, id) {
  if (type === "choice") {
    const select = el("select", { id });
    select.append(...(choices ?? []).map(([key, words]) => new Option(words, key)));
    select.value = String(value);
    return select;
  }
  if (type === "long") {
    const area = el("textarea", { id, rows: 3, placeholder, spellcheck: "false", dir: "auto" });
    area.value = value === undefined ? "" : String(value);
    return area;
  }
  if (type === "flag") {
    const box = el("input", { id, type: "checkbox" });
    box.checked = value === true;
    return box;
  }
  const input = el("input", { id, type: "text", placeholder, autocomplete: "off", spellcheck: "false", dir: "auto", inputmode: type === "share" ? "decimal" : undefined });
  input.value = value === undefined ? "" : String(value);
  return input;
}

/** @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} control @param {Field} field */
function readControl(control, { type }) {
  if (control instanceof HTMLInputElement && type === "flag") return control.checked;
  if (type !== "share") return control.value;
  const text = control.value.trim().replace(",", ".");
  return text === "" || !Number.isFinite(Number(text)) ? text : Number(text);
}
