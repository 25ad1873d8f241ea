/* Test cases that are open: the table, what is beside it, and that every change reaches the server. */
import { create } from "../api.js";
import { one } from "../dom.js";
import { noteKey } from "../keys.js";
import { sayNext } from "../flash.js";
import { notice } from "../notices.js";
import { toastError } from "../toast.js";
import { CaseKeeper, fetchCases } from "./case_keeper.js";
import { sheetRows, windowRows } from "./case_rows.js";
import { CaseSheet, EXPECTED, rowWords } from "./case_sheet.js";
import { CaseTable } from "./case_table.js";
import { PastRuns } from "./past_runs.js";
import { SidePanel } from "./side_panel.js";
import { UnusedColumn } from "./unused_column.js";
import { ValueEditor } from "./value_editor.js";

/** @typedef {import("./case_sheet.js").Case} Case */
/** @typedef {import("./reading.js").Dataset} Dataset */
/** @typedef {{promptId: string, datasetId: string, version: number | null, variables: (import("./column_mapping.js").Variable)[]}} Page */

const STATES = {
  saved: { word: "Saved", mark: "clean" },
  waiting: { word: "Unsaved", mark: "dirty" },
  saving: { word: "Saving…", mark: "running" },
  failed: { word: "Not saved; trying again", mark: "failed" },
  changed: { word: "Not saved", mark: "failed" },
  refused: { word: "Not saved", mark: "failed" },
};

/**
 * The columns of the table: the variables of the version, then what else the rows have.
 * @param {string[]} columns
 * @param {Page} page
 */
function columnsOf(columns, { variables, version }) {
  const used = variables.map(({ name }) => name);
  const names = [...used, ...columns.filter((name) => !used.includes(name))];
  const about = names.map((name) => {
    const variable = variables.find((each) => each.name === name);
    const hasDefault = variable?.default !== undefined && variable.default !== null;
    return { name, hasDefault, used: version === null || variable !== undefined, isExpected: false };
  });
  return { names, about: [...about, { name: EXPECTED, hasDefault: false, used: true, isExpected: true }] };
}

export class CasePage {
  /**
   * @param {Page} page
   * @param {Dataset} dataset
   */
  constructor(page, dataset) {
    this.page = page;
    this.dataset = dataset;
    this.root = one("[data-cases]", document, HTMLElement);
    this.state = one("[data-cases-state]", document, HTMLElement);
    this.said = one("[data-cases-said]");
    /** @type {ValueEditor | null} */
    this.value = null;
    this.side = new SidePanel(one("[data-side]", this.root, HTMLElement), () => this.#closeValue());
  }

  async open() {
    this.root.hidden = false;
    if (this.dataset.editable) await this.#openSheet();
    else this.#openWindow();
    this.table?.grid.focus();
  }

  async #openSheet() {
    const { revision, columns, rows } = await fetchCases(this.dataset.id);
    const { names, about } = columnsOf(columns, this.page);
    const sheet = new CaseSheet(names, rows, (edits) => keeper.note(edits));
    const keeper = new CaseKeeper(this.dataset.id, { revision, columns }, {
      rows: () => sheet.rows,
      columns: () => names,
      onState: (state) => this.#showState(state),
    });
    this.sheet = sheet;
    this.keeper = keeper;
    this.unused = new UnusedColumn(keeper, () => this.page.variables.map(({ name }) => name).filter((name) => !columns.includes(name)));
    this.#openTable(sheetRows(sheet), sheet, about);
    this.#bindRows(sheet);
    this.#showState({ kind: "saved", message: "" });
    if (rows.length === 0) this.#say("Type, paste cells from a spreadsheet, or drop a CSV or JSONL file.");
  }

  #openWindow() {
    const { names, about } = columnsOf(this.dataset.columns, this.page);
    const source = windowRows(this.dataset, names, (error) => (error ? toastError(error) : this.table?.grid.paint()));
    this.#openTable(source, null, about);
    this.state.textContent = `${rowWords(this.dataset.count)}, read only`;
    this.state.title = "So many rows are not written in by hand. Change the file and import it again.";
  }

  /**
   * @param {import("./case_rows.js").Rows} source
   * @param {CaseSheet | null} sheet
   * @param {import("./case_table.js").Column[]} about
   */
  #openTable(source, sheet, about) {
    const grid = one("[data-grid]", this.root, HTMLElement);
    this.source = source;
    this.about = about;
    this.table = new CaseTable(grid, source, sheet, {
      columns: about,
      onOpen: (place) => this.#openValue(place),
      onMove: (place) => this.side.isOpen && this.#openValue(place, { keepsFocus: true }),
      onUnused: (name) => this.unused?.open(name),
      onRemove: () => sheet && this.#remove(sheet),
      onSaid: (words) => this.#say(words),
    });
  }

  /** @param {import("./grid_walk.js").Place} place @param {{keepsFocus?: boolean}} [options] */
  #openValue({ row, column }, { keepsFocus = false } = {}) {
    const { source, about, sheet } = this;
    if (!source || !about) return;
    this.#closeValue();
    if (row >= source.count) {
      this.side.close();
      return;
    }
    const name = about[column].isExpected ? "Expected" : about[column].name;
    const onChange = (/** @type {string | undefined} */ text) => {
      sheet?.set(row, column, text);
      this.table?.refresh();
    };
    this.value = new ValueEditor({ label: `${name}, row ${row + 1}`, value: source.valueAt(row, column), readOnly: !sheet, onChange });
    this.side.open(`Row ${(row + 1).toLocaleString()}, ${name}`, [this.value.element]);
    this.table?.grid.reveal();
    if (!keepsFocus) this.value.editor.focus();
  }

  #closeValue() {
    const hadFocus = this.value?.element.contains(document.activeElement) ?? false;
    this.value?.destroy();
    this.value = null;
    if (hadFocus || document.activeElement === document.body) this.table?.grid.focus();
  }

  /** @param {CaseSheet} sheet */
  #bindRows(sheet) {
    const bar = one("[data-cases-bar]", document, HTMLElement);
    const past = new PastRuns(this.page.promptId, (row) => this.#add(sheet, [row]));
    bar.hidden = false;
    one("[data-row-add]", bar).addEventListener("click", () => this.#add(sheet));
    one("[data-row-remove]", bar).addEventListener("click", () => this.#remove(sheet));
    one("[data-rows-undo]", bar).addEventListener("click", () => this.table?.undo());
    one("[data-past-runs]", bar).addEventListener("click", () => void past.open());
    noteKey("enter", "Edit the cell");
    noteKey("shift+enter", "Edit it beside the table");
    noteKey("tab", "Next cell");
    noteKey("escape", "Leave the table with the next Tab");
    noteKey("delete", "Take the value back");
    noteKey("mod+delete", "Remove the row");
    noteKey("mod+z", "Undo");
    noteKey("mod+v", "Paste cells of a spreadsheet");
  }

  /** @param {CaseSheet} sheet @param {Case[]} [rows] */
  #add(sheet, rows) {
    const at = sheet.rows.length;
    sheet.insert(at, rows);
    this.table?.refresh();
    this.table?.grid.moveTo({ row: at, column: 0 });
    if (!rows) this.table?.grid.focus();
  }

  /** @param {CaseSheet} sheet */
  #remove(sheet) {
    const row = this.table?.grid.active.row ?? 0;
    if (row >= sheet.rows.length) return;
    this.side.close();
    sheet.remove(row);
    this.table?.refresh();
    this.table?.grid.focus();
    this.#say(`Row ${(row + 1).toLocaleString()} is removed. Undo brings it back.`);
  }

  /** @param {string} words */
  #say(words) {
    this.said.textContent = words;
  }

  /** @param {import("./case_keeper.js").KeeperState} state */
  #showState({ kind, message }) {
    const { word, mark } = STATES[kind];
    this.state.dataset.state = mark;
    this.state.title = message;
    if (this.state.textContent !== word) this.state.textContent = word;
    if (kind === "changed") this.#offerBoth("Somebody else changed these test cases meanwhile. What you typed since is in this page only.");
    if (kind === "refused") this.#offerBoth(`${message} What you typed since is in this page only.`);
  }

  /** @param {string} text */
  #offerBoth(text) {
    const actions = [
      { label: "Keep mine as new test cases", action: () => void this.#keepMine().catch(toastError) },
      { label: "Load what the server has", action: () => this.#reload() },
    ];
    notice(text, { tone: "warn", name: "cases-changed", actions });
  }

  async #keepMine() {
    const { sheet, keeper } = this;
    if (!sheet || !keeper) return;
    const { id } = await create(`prompts/${this.page.promptId}/datasets`, { name: `${this.dataset.name} (mine)`.slice(0, 200), columns: sheet.variables, rows: sheet.rows });
    keeper.forget();
    sayNext("These are your rows, under a name of their own.");
    location.assign(`/prompts/${this.page.promptId}/tests/${id}/`);
  }

  #reload() {
    this.keeper?.forget();
    location.reload();
  }
}

/** What a file named besides the columns of the version, in words. @param {Page} page @param {Dataset} dataset */
export function missingNote({ variables, version }, { columns, count }) {
  const missing = variables.filter(({ name, default: fallback }) => !columns.includes(name) && (fallback === undefined || fallback === null)).map(({ name }) => `{{${name}}}`);
  if (missing.length === 0 || count === 0 || version === null) return "";
  return `Version ${version} also uses ${missing.join(", ")}, which these rows have no column for.`;
}
