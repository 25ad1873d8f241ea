/* What an import would become, before anything is created: kind, name, warnings, the texts. */
import { el, icon, one } from "../dom.js";
import { sentence } from "../spec.js";

const SHOWN = 4000;
const NAMES = { system: "System", user: "User", assistant: "Assistant" };

/** @param {unknown} content */
function written(content) {
  const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length.toLocaleString()} characters)` : text;
}

export class ImportPreview {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.form = one("[data-import-form]", root, HTMLFormElement);
    this.name = one("input[name=name]", this.form, HTMLInputElement);
  }

  /** @param {string} problem "" for none */
  clear(problem = "") {
    this.form.hidden = true;
    one("[data-import-idle]", this.root, HTMLElement).hidden = problem !== "";
    one("[data-import-problem]", this.root, HTMLElement).hidden = problem === "";
    one("[data-import-problem-text]", this.root).textContent = problem;
  }

  /** @param {{kind: string, name: string, spec: import("../spec.js").Spec, warnings: string[]}} found */
  show({ kind, name, spec, warnings }) {
    this.#open(kind, sentence(spec));
    this.name.value = name;
    one("[data-import-name-field]", this.form, HTMLElement).hidden = false;
    one("[data-import-warnings]", this.form).replaceChildren(...warnings.map((text) => el("li", {}, icon("triangle-alert"), el("span", { dir: "auto" }, text))));
    const parts = [...(spec.system === undefined ? [] : [{ role: "system", content: spec.system }]), ...spec.messages];
    const texts = parts.flatMap(({ role, content }) => [el("dt", {}, NAMES[/** @type {keyof typeof NAMES} */ (role)] ?? role), el("dd", { dir: "auto", tabindex: 0 }, written(content))]);
    one("[data-import-texts]", this.form).replaceChildren(...texts);
  }

  showExport() {
    this.#open("export", "A prompt with its whole tree: versions, branches and labels.");
    one("[data-import-name-field]", this.form, HTMLElement).hidden = true;
    one("[data-import-warnings]", this.form).replaceChildren();
    one("[data-import-texts]", this.form).replaceChildren();
  }

  /** @param {string} kind @param {string} words */
  #open(kind, words) {
    this.clear();
    one("[data-import-idle]", this.root, HTMLElement).hidden = true;
    this.form.hidden = false;
    this.fail("");
    one("[data-import-kind]", this.form).textContent = kind;
    one("[data-import-sentence]", this.form).textContent = words;
  }

  /** @param {string} text */
  fail(text) {
    const problem = one("[data-import-error]", this.form, HTMLElement);
    problem.textContent = text;
    problem.hidden = !text;
  }

  /** @param {boolean} busy */
  wait(busy) {
    const button = one("[data-import-create]", this.form, HTMLButtonElement);
    button.setAttribute("aria-disabled", String(busy));
    button.textContent = busy ? "Creating…" : "Create prompt";
  }
}
