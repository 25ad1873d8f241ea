/* The page that merges two versions. */
import { one, pageData } from "../dom.js";
import { MergePage } from "../merge_page.js";
import { toastError } from "../toast.js";

for (const input of document.querySelectorAll("[data-picker] input")) {
  input.addEventListener("change", () => /** @type {HTMLInputElement} */ (input).form?.requestSubmit());
}

const page = pageData("page");
if (page.ours && page.theirs) new MergePage(one("[data-merge]", document, HTMLElement), page).start().catch(toastError);
