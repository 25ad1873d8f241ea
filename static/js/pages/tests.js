/* The tests of a prompt: its test cases and its batches. */
import { create } from "../api.js";
import { ImportDialog } from "../batches/import_dialog.js";
import { Poll } from "../batches/poll.js";
import { batchRow, datasetRow, PagedList } from "../batches/test_list.js";
import { one, pageData } from "../dom.js";
import { showSaid } from "../flash.js";
import { bindKey } from "../keys.js";
import { toastError } from "../toast.js";

/** @type {{promptId: string, version: number | null, variables: import("../batches/column_mapping.js").Variable[]}} */
const page = pageData("page");
const root = one("[data-tests]", document, HTMLElement);
const datasets = one("[data-datasets]", root, HTMLElement);
const batches = one("[data-batches]", root, HTMLElement);
const dialog = new ImportDialog(page.promptId, page.variables, (id) => location.assign(`/prompts/${page.promptId}/tests/${id}/`));
const cases = new PagedList(datasets, "datasets", `prompts/${page.promptId}/datasets?limit=50`, (item) => datasetRow(page.promptId, item));
const runs = new PagedList(batches, "batches", `prompts/${page.promptId}/batches?limit=50`, (item) => batchRow(page.promptId, item));

let making = false;

async function makeCases() {
  if (making) return;
  making = true;
  try {
    const columns = page.variables.map(({ name }) => name);
    const { id } = await create(`prompts/${page.promptId}/datasets`, { name: "Test cases", columns, rows: [] });
    location.assign(`/prompts/${page.promptId}/tests/${id}/`);
  } catch (error) {
    making = false;
    toastError(error);
  }
}

/** @param {number} datasetCount @param {number} batchCount */
function show(datasetCount, batchCount) {
  const isEmpty = datasetCount + batchCount === 0;
  one("[data-tests-wait]", root, HTMLElement).hidden = true;
  one("[data-tests-empty]", root, HTMLElement).hidden = !isEmpty;
  datasets.hidden = datasetCount === 0;
  batches.hidden = isEmpty;
  one("[data-batches-none]", batches, HTMLElement).hidden = batchCount > 0;
  one("[data-new-batch]", document, HTMLElement).hidden = datasetCount === 0 || page.version === null;
  root.removeAttribute("aria-busy");
}

async function load() {
  show(...(await Promise.all([cases.load(), runs.load()])));
}

for (const button of document.querySelectorAll("[data-new-cases]")) button.addEventListener("click", () => void makeCases());
for (const button of document.querySelectorAll("[data-import-cases]")) button.addEventListener("click", () => dialog.choose());
dialog.bindDrop(document.body);
bindKey("n", "New test cases", () => void makeCases());
showSaid();

load().then(async () => {
  // Only what moves is watched.
  const moving = () => document.querySelector(".state[data-state=running]") !== null;
  const poll = new Poll(async () => {
    const before = root.textContent;
    await load();
    if (!moving()) return "over";
    return before === root.textContent ? "same" : "changed";
  });
  if (moving()) poll.start();
}, (error) => {
  one("[data-tests-wait]", root).textContent = "The lists could not be loaded.";
  toastError(error);
});
