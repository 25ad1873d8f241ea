/* A column that no variable of the version goes by: it takes the name of one, or goes. */
import { ApiError, call } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";

/** @typedef {import("./case_keeper.js").CaseKeeper} CaseKeeper */

const GOES = "\0goes";

export class UnusedColumn {
  /**
   * @param {CaseKeeper} keeper
   * @param {() => string[]} free variables that no column fills
   */
  constructor(keeper, free) {
    this.keeper = keeper;
    this.free = free;
    this.name = "";
    this.dialog = one("#unused-column", document, HTMLDialogElement);
    this.choice = one("select", this.dialog, HTMLSelectElement);
    this.problem = one("[data-form-error]", this.dialog, HTMLElement);
    one("form", this.dialog).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#change();
    });
  }

  /** @param {string} name */
  open(name) {
    this.name = name;
    this.problem.hidden = true;
    one("[data-column-name]", this.dialog).textContent = name;
    const renames = this.free().map((free) => new Option(`Rename it to {{${free}}}`, free));
    this.choice.replaceChildren(...renames, new Option("Remove it, with its values", GOES));
    openDialog(this.dialog);
  }

  async #change() {
    const { keeper, name } = this;
    const to = this.choice.value;
    try {
      await keeper.flush();
      const columns = keeper.columns.filter((each) => each !== name);
      const change = to === GOES ? { columns } : { edits: [{ op: "rename", from: name, to }] };
      await call(`datasets/${keeper.id}/rows`, { method: "PATCH", body: { revision: keeper.revision, edits: [], ...change } });
      location.reload();
    } catch (error) {
      this.problem.textContent = error instanceof ApiError ? error.sentence : "The column could not be changed.";
      this.problem.hidden = false;
    }
  }
}
