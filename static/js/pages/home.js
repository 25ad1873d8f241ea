/* The list of prompts: folders, selection, the menu of a row, and what they do. */
import { el } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { bindFolderEditing, bindFolders, knownFolders } from "../library/folder_tree.js";
import { PromptForms } from "../library/forms.js";
import { doneWords, doToEach, moveFolder } from "../library/prompts.js";
import { bindRowMenu } from "../library/row_menu.js";
import { Selection } from "../library/selection.js";
import { ShareDialog } from "../sharing/share_dialog.js";
import { toastError } from "../toast.js";

/** @typedef {import("../library/prompts.js").Row} Row */

/**
 * The list may show the folder itself, or one in it: then it goes along.
 * @param {string} folder
 * @param {Record<string, any>} values
 */
async function actOnFolder(folder, values) {
  const { folder: to, moved } = await moveFolder(folder, values);
  sayNext(`Moved ${to}, ${moved.toLocaleString()} ${moved === 1 ? "prompt" : "prompts"}`);
  const address = new URL(location.href);
  const shown = address.searchParams.get("folder");
  if (shown !== null && (shown === folder || shown.startsWith(`${folder}/`))) {
    address.searchParams.set("folder", to + shown.slice(folder.length));
    address.searchParams.delete("cursor");
  }
  if (address.href === location.href) location.reload();
  else location.assign(address);
}

/**
 * Does it and shows the list as it is then.
 * @param {string} action
 * @param {Row[]} rows
 * @param {Record<string, any>} [values]
 */
async function act(action, rows, values) {
  if (action === "folder") {
    await actOnFolder(rows[0].folder, values ?? {});
    return;
  }
  await doToEach(action, rows, values);
  sayNext(doneWords(action, rows));
  location.reload();
}

showSaid();
bindFolders();
document.querySelector("[data-known-folders]")?.replaceChildren(...knownFolders().map((value) => el("option", { value })));

if (document.querySelector("[data-prompt-form]")) {
  const forms = new PromptForms(act);
  const share = new ShareDialog(() => location.reload());
  const start = (/** @type {string} */ action, /** @type {Row[]} */ rows) => {
    if (action === "share") void share.open(rows[0].id);
    else if (action === "export") location.assign(`/api/v1/prompts/${rows[0].id}/export`);
    else if (forms.asks(action)) forms.open(action, rows);
    else act(action, rows).catch(toastError);
  };
  if (document.querySelector("[data-list]")) {
    new Selection(start);
    bindRowMenu(start);
  }
  bindFolderEditing((folder) => forms.open("folder", [{ id: "", name: folder, description: "", folder, tags: [] }]));
}
