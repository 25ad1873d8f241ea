/* Doubles how many tokens an answer may have, in the editor, where it can be seen and changed. */
import { one } from "./dom.js";
import { showPane } from "./panes.js";
import { toast } from "./toast.js";

/** What a model is given where nobody said anything. */
const USUAL = 1024;

export function raiseTokens() {
  showPane(one("#main", document, HTMLElement), "editor");
  one("[data-parameters]", document, HTMLDetailsElement).open = true;
  const input = one('[data-param="max_tokens"]', document, HTMLInputElement);
  const raised = String(2 * (Number(input.value) || USUAL / 2));
  input.value = raised;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.focus();
  input.select();
  toast(`Max tokens is ${Number(raised).toLocaleString()} now. Running saves it as a version.`);
}
