/* Import: reads what is given, shows what it becomes, creates it when told to; follows what a worker takes in. */
import { ApiError, call, create, newKey } from "../api.js";
import { afterQuiet, one } from "../dom.js";
import { sayNext } from "../flash.js";
import { ImportPreview } from "../import/preview.js";
import { ImportProgress } from "../import/progress.js";
import { ImportSource } from "../import/source.js";
import { sendImport } from "../large/uploader.js";
import { toast } from "../toast.js";

/** @typedef {import("../import/source.js").Given} Given */

const QUIET_MS = 350;
/** What is larger goes to the store and not through the application. */
const MOST_IN_A_REQUEST = 1_000_000;

const root = one("[data-import]", document, HTMLElement);
const source = one("[data-import-source]", root, HTMLElement);
const preview = new ImportPreview(root);
const progress = new ImportProgress(one("[data-import-progress]", root, HTMLElement));
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
    if (busy) return;
    given = found;
    key = newKey();
    if (!found) preview.clear();
    else if (found.file) preview.showExport();
    else look();
  },
  (problem) => {
    if (busy) return;
    given = null;
    preview.clear(problem);
  },
);

/** @param {string | null} id of the import that the address of this page names: a reload goes on with it */
function remember(id) {
  history.replaceState(null, "", id ? `?import=${id}` : location.pathname);
}

/** @param {{id: string, name: string}} prompt @param {number} made @param {string[]} [warnings] */
function leave(prompt, made, warnings = []) {
  sayNext([`Imported ${prompt.name}, ${made.toLocaleString()} ${made === 1 ? "version" : "versions"}.`, ...warnings].join(" "));
  location.assign(`/prompts/${prompt.id}/`);
}

/** @param {string} id */
async function cancel(id) {
  try {
    await call(`imports/${id}`, { method: "DELETE" });
  } catch (error) {
    toast(words(error), { tone: "warn" });
  }
}

/**
 * Shows an import until it is over. Rejects with the sentence of one that failed.
 * @param {string} id
 */
async function follow(id) {
  remember(id);
  progress.cancel = () => void cancel(id);
  const { status, prompt, versions_made: made, error } = await progress.follow(id);
  if (status === "done" && prompt) {
    leave(prompt, made);
    return;
  }
  remember(null);
  const message = error?.message ?? "The file was not sent to its end. Choose it again: what has arrived is not sent twice.";
  throw new ApiError({ message, code: error?.code ?? "not_uploaded", status: 1 });
}

/* In place of the form; if it comes to nothing, the form is there again. */
function showProgress(/** @type {string} */ name, cancel = () => {}) {
  preview.form.hidden = true;
  progress.begin(name, cancel);
}

/** @param {Blob} file @param {string} name */
async function sendLarge(file, name) {
  const stop = new AbortController();
  const cancelled = new ApiError({ message: "The import was cancelled. Nothing was made.", code: "cancelled", status: 1 });
  showProgress(name, () => stop.abort(cancelled));
  const format = file.type === "application/zip" ? "zip" : "json";
  const onProgress = (/** @type {"read" | "send" | "check" | "wait"} */ part, /** @type {number} */ done) => progress.sending(part, done, file.size);
  await follow(await sendImport(file, format, { onProgress, signal: stop.signal }));
}

/** @param {Given} asked */
async function take(asked) {
  if (asked.file && asked.file.size > MOST_IN_A_REQUEST) {
    await sendLarge(asked.file, asked.name);
    return;
  }
  const name = preview.name.value.trim();
  const answer = await (asked.file
    ? call("prompts/import", { method: "POST", file: asked.file, key })
    : create("prompts/import", name ? { text: asked.text, name } : { text: asked.text }, key));
  if (answer.status) {
    showProgress(asked.name);
    await follow(answer.id);
  } else {
    leave(answer.prompt, answer.versions_made, answer.warnings);
  }
}

/** @param {boolean} isBusy */
function setBusy(isBusy) {
  busy = isBusy;
  source.inert = isBusy;
  preview.wait(isBusy);
  if (!isBusy) progress.end();
}

preview.form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy || !given) return;
  setBusy(true);
  try {
    await take(given);
  } catch (error) {
    preview.form.hidden = false;
    preview.fail(words(error));
    if (error instanceof ApiError && error.status > 0) key = newKey();
    setBusy(false);
  }
});

/** A page that was reloaded, or came back to, shows the import that its address names. @param {string} id */
async function goOn(id) {
  setBusy(true);
  one("[data-import-idle]", root, HTMLElement).hidden = true;
  showProgress("");
  try {
    await follow(id);
  } catch (error) {
    setBusy(false);
    preview.clear(words(error));
  }
}

const named = new URLSearchParams(location.search).get("import");
if (named) void goOn(named);
