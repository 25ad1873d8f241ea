/* Name and description of the prompt. */
import { call } from "./api.js";
import { one } from "./dom.js";
import { toast } from "./toast.js";

/** @param {string} promptId */
export function bindRename(promptId) {
  const form = one("[data-rename-form]", document, HTMLFormElement);
  const problem = one("[data-rename-error]", form, HTMLElement);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    problem.hidden = true;
    try {
      const { name } = await call(`prompts/${promptId}`, { method: "PATCH", body: fields });
      one("[data-prompt-name]").textContent = name;
      document.title = `${name} · Prompt playground`;
      form.closest("dialog")?.close();
      toast("Renamed");
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      problem.hidden = false;
    }
  });
}
