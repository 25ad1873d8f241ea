/* The list of prompts: folders, selection, the menu of a row, and what they do. */
import { el } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { bindFolders, knownFolders } from "../library/folder_tree.js";
import { PromptForms } from "../library/forms.js";
import { doneWords, doToEach } from "../library/prompts.js";
import { bindRowMenu } from "../library/row_menu.js";
import { Selection } from "../library/selection.js";
import { toastError } from "../toast.js";

/** @typedef {import("../library/prompts.js").Row} Row */

/**
 * Does it and shows the list as it is then.
 * @param {string} action
 * @param {Row[]} rows
 * @param {Record<string, any>} [values]
 */
async function act(action, rows, values) {
  await doToEach(action, rows, values);
  sayNext(doneWords(action, rows));
  location.reload();
}

showSaid();
bindFolders();
document.querySelector("[data-known-folders]")?.replaceChildren(...knownFolders().map((value) => el("option", { value })));

if (document.querySelector("[data-list]")) {
  const forms = new PromptForms(act);
  const start = (/** @type {string} */ action, /** @type {Row[]} */ rows) => {
    if (action === "export") location.assign(`/api/v1/prompts/${rows[0].id}/export`);
    else if (forms.asks(action)) forms.open(action, rows);
    else act(action, rows).catch(toastError);
  };
  new Selection(start);
  bindRowMenu(start);
}
