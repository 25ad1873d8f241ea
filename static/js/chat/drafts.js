/* What is written and not sent, per person and conversation, in this browser. */

/** @param {string} conversation */
const keyOf = (conversation) => `chat-draft:${document.documentElement.dataset.user ?? ""}:${conversation}`;

/** @param {string} conversation @returns {string} */
export function readDraft(conversation) {
  try {
    return localStorage.getItem(keyOf(conversation)) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} conversation @param {string} text */
export function keepDraft(conversation, text) {
  try {
    if (text) localStorage.setItem(keyOf(conversation), text);
    else localStorage.removeItem(keyOf(conversation));
  } catch {
    // A full store: the text is still in the page.
  }
}
