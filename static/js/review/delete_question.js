/* Asks before a comment is deleted. */
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";

/** @param {string} words what else goes or stays @returns {Promise<boolean>} */
export function askDelete(words) {
  const dialog = one("#delete-comment", document, HTMLDialogElement);
  const form = one("[data-delete-form]", dialog, HTMLFormElement);
  one("[data-delete-words]", dialog).textContent = words;
  openDialog(dialog);
  return new Promise((resolve) => {
    let sure = false;
    const agree = () => {
      sure = true;
    };
    form.addEventListener("submit", agree, { once: true });
    dialog.addEventListener(
      "close",
      () => {
        form.removeEventListener("submit", agree);
        resolve(sure);
      },
      { once: true },
    );
  });
}
