/* Test cases: being read from a file, not taken in, or open in the table. */
import { address, ApiError, call } from "../api.js";
import { CasePage, missingNote } from "../batches/case_page.js";
import { ImportDialog } from "../batches/import_dialog.js";
import { bindPageMenu } from "../batches/page_menu.js";
import { Reading, showProblems } from "../batches/reading.js";
import { one, pageData } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { notice } from "../notices.js";
import { toast, toastError } from "../toast.js";

/** @typedef {import("../batches/reading.js").Dataset} Dataset */

/** @type {import("../batches/case_page.js").Page} */
const page = pageData("page");
/** Test cases that came to nothing: another attempt stands in their place. @type {string | null} */
let failed = null;
const dialog = new ImportDialog(page.promptId, page.variables, (id) => void leaveFor(id));

/** @param {string} id */
async function leaveFor(id) {
  // What cannot be removed now stays in the list, where it can be.
  if (failed) await call(`datasets/${failed}`, { method: "DELETE" }).catch(() => {});
  location.assign(`/prompts/${page.promptId}/tests/${id}/`);
}

/** @param {string} id @param {(form: HTMLFormElement) => Promise<void>} action */
function bindDialog(id, action) {
  const box = one(`#${id}`, document, HTMLDialogElement);
  const form = one("form", box, HTMLFormElement);
  const problem = one("[data-form-error]", form, HTMLElement);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    problem.hidden = true;
    action(form).then(
      () => box.close(),
      (error) => {
        problem.textContent = error instanceof ApiError ? error.sentence : "That did not work.";
        problem.hidden = false;
      },
    );
  });
}

/** @param {Dataset} dataset */
function bindMenu(dataset) {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-download]"))) {
    link.href = address(`datasets/${dataset.id}/${link.dataset.download}`);
  }
  const name = one("#rename-cases-name", document, HTMLInputElement);
  name.value = dataset.name;
  bindDialog("rename-cases", async () => {
    const changed = await call(`datasets/${dataset.id}`, { method: "PATCH", body: { name: name.value.trim() } });
    one("[data-place-title]").textContent = changed.name;
  });
  bindDialog("delete-cases", async () => {
    await call(`datasets/${dataset.id}`, { method: "DELETE" });
    sayNext(`${dataset.name} is deleted.`);
    location.assign(`/prompts/${page.promptId}/tests/`);
  });
}

/** @param {Dataset} dataset */
async function show(dataset) {
  const { status, file } = dataset;
  one("[data-new-batch]", document, HTMLElement).hidden = status !== "ready";
  failed = status === "failed" ? dataset.id : null;
  if (status === "failed" || (status === "ready" && file && file.problem_count > 0)) showProblems(dataset, { again: (options) => dialog.open(options) });
  if (status === "pending" || status === "queued" || status === "reading") {
    new Reading(dataset, (now) => {
      for (const warning of now.file?.warnings ?? []) toast(warning.message);
      show(now).catch(toastError);
    });
  }
  if (status !== "ready") return;
  const note = missingNote(page, dataset);
  if (note) notice(note, { tone: "warn", name: "missing" });
  await new CasePage(page, dataset).open();
}

for (const button of document.querySelectorAll("[data-import-cases]")) button.addEventListener("click", () => dialog.choose());
dialog.bindDrop(document.body);
bindPageMenu("cases-menu");
showSaid();
call(`datasets/${page.datasetId}`)
  .then((/** @type {Dataset} */ dataset) => {
    bindMenu(dataset);
    return show(dataset);
  })
  .catch(toastError);
