/* A sentence for the next page, such as what an undo did. */
import { toast } from "./toast.js";

const STORE = "flash";

/** @param {string} text */
export function sayNext(text) {
  try {
    sessionStorage.setItem(STORE, text);
  } catch {
    // The page that opens shows it, too.
  }
}

export function showSaid() {
  try {
    const text = sessionStorage.getItem(STORE);
    sessionStorage.removeItem(STORE);
    if (text) toast(text);
  } catch {
    // As above.
  }
}
