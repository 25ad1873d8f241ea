/* Asks before a run that will be refused or cut short; what was agreed to once in this page is not asked again. */
import { openDialog } from "../dialog.js";
import { el, one } from "../dom.js";

/** @type {Set<string>} */
const agreed = new Set();

/** @param {string[]} doubts sentences @returns {Promise<boolean>} whether to run all the same */
export function askToRun(doubts) {
  const wanted = doubts.join("\n");
  if (doubts.length === 0 || agreed.has(wanted)) return Promise.resolve(true);
  const dialog = one("#run-question", document, HTMLDialogElement);
  const form = one("form", dialog, HTMLFormElement);
  one("[data-run-doubts]", dialog).replaceChildren(...doubts.map((doubt) => el("li", {}, doubt)));
  openDialog(dialog);
  one("[type=submit]", dialog, HTMLElement).focus();
  return new Promise((resolve) => {
    let sure = false;
    const agree = () => {
      sure = true;
      agreed.add(wanted);
    };
    form.addEventListener("submit", agree, { once: true });
    const closed = () => {
      form.removeEventListener("submit", agree);
      resolve(sure);
    };
    dialog.addEventListener("close", closed, { once: true });
  });
}
