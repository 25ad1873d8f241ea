/* The providers page: one's own key for Anthropic is added, replaced, tried and removed. The key itself never comes back. */
import { ApiError, call } from "../api.js";
import { one } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { toastError } from "../toast.js";

const KEY = "providers/anthropic/key";

const form = one("[data-provider-key]", document, HTMLFormElement);
const field = one("[name=key]", form, HTMLInputElement);
const problem = one("[data-provider-key-error]", form, HTMLElement);
let busy = false;

/** @param {string} text "" hides it */
function say(text) {
  problem.textContent = text;
  problem.hidden = !text;
}

showSaid();

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  busy = true;
  say("");
  try {
    await call(KEY, { method: "PUT", body: { key: field.value } });
    sayNext("Your key is kept.");
    location.reload();
  } catch (error) {
    if (error instanceof ApiError) say(error.sentence);
    else toastError(error);
  } finally {
    busy = false;
  }
});

// What was typed and not sent does not stay in the page.
one("#provider-key", document, HTMLDialogElement).addEventListener("close", () => form.reset());

document.querySelector("[data-key-test]")?.addEventListener("click", async (event) => {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  const verdict = one("[data-key-verdict]", document, HTMLElement);
  button.disabled = true;
  verdict.hidden = false;
  verdict.textContent = "Asking Anthropic…";
  try {
    const { works, message } = await call(`${KEY}/test`, { method: "POST" });
    verdict.textContent = message;
    verdict.dataset.works = String(works);
  } catch (error) {
    verdict.hidden = true;
    toastError(error);
  } finally {
    button.disabled = false;
  }
});

one("[data-provider-key-remove]").addEventListener("click", async () => {
  try {
    await call(KEY, { method: "DELETE" });
    sayNext("Your key is removed.");
    location.reload();
  } catch (error) {
    one("#provider-key-remove", document, HTMLDialogElement).close();
    toastError(error);
  }
});
