/* Import: reads what is given, shows what it becomes, creates it when told to. */
import { ApiError, call, create, newKey } from "../api.js";
import { afterQuiet, one } from "../dom.js";
import { sayNext } from "../flash.js";
import { ImportPreview } from "../import/preview.js";
import { ImportSource } from "../import/source.js";

/** @typedef {import("../import/source.js").Given} Given */

const QUIET_MS = 350;

const root = one("[data-import]", document, HTMLElement);
const preview = new ImportPreview(root);
/** @type {Given | null} */
let given = null;
let key = newKey();
let busy = false;

/** @param {unknown} error */
const words = (error) => (error instanceof ApiError ? error.sentence : /** @type {Error} */ (error).message);

const look = afterQuiet(async () => {
  const asked = given;
  if (!asked?.text) return;
  if (asked.text.includes('"prompt-playground-export"')) {
    asked.file = new Blob([asked.text], { type: "application/json" });
    preview.showExport();
    return;
  }
  try {
    const found = await create("prompts/import/preview", { text: asked.text });
    if (given === asked) preview.show(found);
  } catch (error) {
    if (given === asked) preview.clear(words(error));
  }
}, QUIET_MS);

new ImportSource(
  root,
  (found) => {
    given = found;
    key = newKey();
    if (!found) preview.clear();
    else if (found.file) preview.showExport();
    else look();
  },
  (problem) => {
    given = null;
    preview.clear(problem);
  },
);

/** @param {Given} asked */
function send(asked) {
  if (asked.file) return call("prompts/import", { method: "POST", file: asked.file, key });
  const name = preview.name.value.trim();
  return create("prompts/import", name ? { text: asked.text, name } : { text: asked.text }, key);
}

preview.form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy || !given) return;
  busy = true;
  preview.wait(true);
  try {
    const { prompt, versions_made: made, warnings } = await send(given);
    sayNext([`Imported ${prompt.name}, ${made.toLocaleString()} ${made === 1 ? "version" : "versions"}.`, ...warnings].join(" "));
    location.assign(`/prompts/${prompt.id}/`);
  } catch (error) {
    preview.fail(words(error));
    if (error instanceof ApiError && error.status > 0) key = newKey();
    preview.wait(false);
  }
  busy = false;
});
