/* The page that runs columns side by side. */
import { call } from "../api.js";
import { versionPage } from "../addresses.js";
import { Board } from "../columns/board.js";
import { apiVersionList } from "../columns/column_fields.js";
import { KeepDialog } from "../columns/keep_dialog.js";
import { bindColumnKeys } from "../columns/keys.js";
import { el, one, pageData } from "../dom.js";
import { notice } from "../notices.js";
import { toastError } from "../toast.js";

const page = pageData("page");
const root = one("#main", document, HTMLElement);
const board = new Board(root, page);
root.append(apiVersionList());

const keep = new KeepDialog(page.promptId, (column, saved) => {
  void column.becomes(saved.number);
  const where = saved.forked ? ` on the new branch ${saved.branch}` : "";
  const actions = [{ label: `Open version ${saved.number}`, action: () => location.assign(versionPage(page.promptId, saved.number)) }];
  notice(`Kept as version ${saved.number}${where}.`, { name: "kept", actions });
});
board.onKeep = (column) => keep.open(column);
bindColumnKeys(board);

/* Any other model is typed by hand; without an answer all are. */
async function offerModels() {
  const { results } = await call("models").catch(() => ({ results: [] }));
  one("[data-models]").replaceChildren(...results.map((/** @type {{id: string}} */ { id }) => el("option", { value: id })));
}

void offerModels();
board.start().catch(toastError);
