/* What whoever looks may do with the prompt of this page, as the server wrote it into the page. */
import { pageData } from "../dom.js";

/** @typedef {"comment" | "change" | "run" | "label" | "share" | "own"} Permission */

/** @type {Record<Permission, boolean> | null} */
const can = pageData("page")?.can ?? null;

/** On a page that says nothing of it, everything; the server decides anyway. @param {Permission} what */
export function may(what) {
  return can?.[what] ?? true;
}
