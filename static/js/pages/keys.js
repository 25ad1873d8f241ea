/* The API keys page: create (shown once), revoke (asked first). The list itself is the server's. */
import { ApiError, call, create, newKey } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";
import { toastError } from "../toast.js";

const form = one("[data-new-key]", document, HTMLFormElement);
const made = one("[data-key-made]", document, HTMLDialogElement);
const revoking = one("[data-revoke-dialog]", document, HTMLDialogElement);
const problem = one("[data-new-key-error]", document, HTMLElement);

let action = newKey();
let busy = false;
let toRevoke = "";

/** @param {string} text "" hides it */
function say(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

async function createKey() {
  const data = new FormData(form);
  const answer = await create("keys", { name: data.get("name"), scopes: data.getAll("scopes") }, action);
  action = newKey();
  form.closest("dialog")?.close();
  one("[data-key-text]").textContent = answer.key;
  openDialog(made);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  busy = true;
  say("");
  await createKey().catch((error) => (error instanceof ApiError ? say(error.sentence) : toastError(error)));
  busy = false;
});

// Closing by accident would lose the key for good.
made.addEventListener("cancel", (event) => event.preventDefault());
made.addEventListener("mousedown", (event) => event.stopPropagation());
one("[data-key-done]").addEventListener("click", () => location.reload());

document.addEventListener("click", (event) => {
  const row = /** @type {Element} */ (event.target).closest("[data-revoke]")?.closest("[data-key-row]");
  if (!row) return;
  toRevoke = row.getAttribute("data-key-row") ?? "";
  one("[data-revoke-name]").textContent = one("[data-key-name]", row).textContent;
  openDialog(revoking);
});

one("[data-revoke-confirm]").addEventListener("click", async () => {
  try {
    await call(`keys/${toRevoke}`, { method: "DELETE" });
    location.reload();
  } catch (error) {
    revoking.close();
    toastError(error);
  }
});
