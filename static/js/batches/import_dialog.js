/* A file of test cases on its way in: chosen or dropped, looked at, its columns mapped, sent to the store. */
import { ApiError } from "../api.js";
import { openDialog } from "../dialog.js";
import { el, icon, one } from "../dom.js";
import { bindDropping, pickFile } from "../large/dropping.js";
import { sizeWords } from "../large/sizes.js";
import { sendCases } from "../large/uploader.js";
import { normalName } from "../template.js";
import { AS_EXPECTED, LEFT_OUT, mappingNotes, proposedMapping, remapped, sentMapping } from "./column_mapping.js";
import { fileHead, HEAD_BYTES } from "./file_head.js";

/** @typedef {import("./column_mapping.js").Variable} Variable */

const MOST_BYTES = 128 * 1024 * 1024;
const PARTS = { read: "Reading", send: "Sending", check: "Checking", wait: "Cut off; waiting to go on" };
const ICONS = { bad: "circle-alert", warn: "triangle-alert", plain: "info" };

export class ImportDialog {
  /**
   * @param {string} promptId
   * @param {Variable[]} variables
   * @param {(id: string) => void} onSent
   */
  constructor(promptId, variables, onSent) {
    this.promptId = promptId;
    this.variables = variables;
    this.onSent = onSent;
    this.dialog = one("#import-cases", document, HTMLDialogElement);
    this.form = one("form", this.dialog, HTMLFormElement);
    this.name = one("[data-cases-name]", this.form, HTMLInputElement);
    this.skip = one("[data-cases-skip]", this.form, HTMLInputElement);
    this.problem = one("[data-cases-problem]", this.form, HTMLElement);
    this.progress = one("[data-cases-progress]", this.form, HTMLElement);
    /** @type {File | null} */
    this.file = null;
    /** @type {import("./file_head.js").FileHead | null} */
    this.head = null;
    /** @type {import("./column_mapping.js").Mapping} */
    this.mapping = new Map();
    /** @type {AbortController | null} */
    this.sending = null;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    one("[data-cases-choose]", this.form).addEventListener("click", () => this.choose());
    this.dialog.addEventListener("close", () => this.sending?.abort(new ApiError({ message: "The import was cancelled. Nothing was made.", code: "cancelled", status: 1 })));
  }

  /** Files dropped anywhere on `element` come in here. @param {HTMLElement} element */
  bindDrop(element) {
    bindDropping(element, { onFile: (file) => void this.take(file), onText: () => false });
  }

  choose() {
    pickFile((file) => void this.take(file));
  }

  /** @param {{skipBadRows?: boolean}} [options] */
  open({ skipBadRows = false } = {}) {
    this.skip.checked = skipBadRows;
    this.choose();
  }

  /** @param {File} file */
  async take(file) {
    if (this.sending) return;
    this.file = file;
    this.head = null;
    this.name.value = file.name.replace(/\.[^.]*$/, "").slice(0, 200);
    one("[data-cases-file]", this.form).textContent = `${file.name}, ${sizeWords(file.size)}`;
    if (file.size > MOST_BYTES) this.#fail(`A file of test cases may have ${sizeWords(MOST_BYTES)}.`);
    else await this.#look(file);
    openDialog(this.dialog);
  }

  /** @param {File} file */
  async #look(file) {
    // A character that is cut in two at the end of the stretch is no sign of another encoding.
    const text = await file.slice(0, HEAD_BYTES).text();
    this.head = fileHead(text, { name: file.name, isWhole: file.size <= HEAD_BYTES });
    this.mapping = proposedMapping(this.head.columns, this.variables);
    // With no variable to fill, what the file names become the variables.
    if (this.variables.length === 0) for (const column of this.head.columns) if (this.mapping.get(column) === LEFT_OUT && normalName(column)) this.mapping.set(column, column);
    this.#fail(this.head.problem);
    this.#paint();
  }

  #paint() {
    const { columns, rows } = /** @type {import("./file_head.js").FileHead} */ (this.head);
    const body = one("[data-cases-columns]", this.form);
    body.replaceChildren(
      ...columns.map((column, index) => {
        const sample = rows.map((row) => row[index] ?? "").find((text) => text !== "") ?? "";
        const name = el("th", { scope: "row" }, el("bdi", {}, column));
        return el("tr", {}, name, el("td", {}, this.#target(column)), el("td", { class: "soft cases-sample", dir: "auto" }, sample.slice(0, 120)));
      }),
    );
    this.#paintNotes();
  }

  /** @param {string} column */
  #target(column) {
    const own = normalName(column);
    const known = this.variables.map(({ name }) => name);
    const others = own && !known.includes(own) ? [own] : [];
    const select = el("select", { class: "input", "aria-label": `What ${column} becomes` });
    for (const name of known) select.append(new Option(`{{${name}}}`, name));
    for (const name of others) select.append(new Option(`{{${name}}}, which this version does not use`, name));
    select.append(new Option("The expected text", AS_EXPECTED), new Option("Left out", LEFT_OUT));
    select.value = this.mapping.get(column) ?? LEFT_OUT;
    select.addEventListener("change", () => {
      this.mapping = remapped(this.mapping, column, select.value);
      this.#paint();
      const again = this.form.querySelector(`select[aria-label="What ${CSS.escape(column)} becomes"]`);
      if (again instanceof HTMLElement) again.focus();
    });
    return select;
  }

  #paintNotes() {
    const notes = mappingNotes(this.mapping, this.variables);
    one("[data-cases-notes]", this.form).replaceChildren(...notes.map(({ tone, text }) => el("li", { class: `note is-${tone}` }, icon(ICONS[tone]), el("span", { dir: "auto" }, text))));
    const isBad = !this.head || this.head.problem !== "" || notes.some(({ tone }) => tone === "bad");
    one("[type=submit]", this.form).setAttribute("aria-disabled", String(isBad));
  }

  /** @param {string} text */
  #fail(text) {
    this.problem.hidden = text === "";
    one("[data-cases-problem-text]", this.problem).textContent = text;
    const isUnread = !this.head || this.head.problem !== "";
    one("[data-cases-mapping]", this.form, HTMLElement).hidden = isUnread;
    one("[type=submit]", this.form).setAttribute("aria-disabled", String(isUnread));
  }

  async #send() {
    const { file, head } = this;
    if (!file || !head || this.sending || one("[type=submit]", this.form).getAttribute("aria-disabled") === "true") return;
    this.sending = new AbortController();
    const more = { name: this.name.value.trim() || file.name.slice(0, 200), format: head.format, skip_bad_rows: this.skip.checked, ...sentMapping(this.mapping) };
    this.#wait(true);
    try {
      const onProgress = (/** @type {keyof typeof PARTS} */ part, /** @type {number} */ done) => this.#advance(part, done);
      this.onSent(await sendCases(file, this.promptId, more, { onProgress, signal: this.sending.signal }));
    } catch (error) {
      this.#fail(error instanceof ApiError ? error.sentence : "The file could not be sent. Nothing was made.");
    }
    this.sending = null;
    this.#wait(false);
  }

  /** @param {boolean} isBusy */
  #wait(isBusy) {
    this.progress.hidden = !isBusy;
    one("[data-cases-fields]", this.form, HTMLElement).inert = isBusy;
    one("[type=submit]", this.form, HTMLElement).hidden = isBusy;
  }

  /** @param {keyof typeof PARTS} part @param {number} done */
  #advance(part, done) {
    const bar = one("progress", this.progress, HTMLProgressElement);
    if (part === "check") bar.removeAttribute("value");
    else bar.value = done;
    const words = part === "check" ? PARTS[part] : `${PARTS[part]}, ${Math.floor(done * 100)} %`;
    const place = one("[data-cases-progress-words]", this.progress);
    if (place.textContent !== words) place.textContent = words;
  }
}
