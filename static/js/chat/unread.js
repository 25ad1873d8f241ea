/* How many messages wait: beside Chat in the navigation, and before the title of the page. */

import { call } from "../api.js";

const EVERY_MS = 60_000;
/* The server says the number, too, for the time before any script ran. */
const withoutCount = (/** @type {string} */ words) => words.replace(/^\(\d+\+?\) /, "");
let title = withoutCount(document.title);
let shown = 0;

/** @param {number} count */
export function countWords(count) {
  return count > 99 ? "99+" : String(count);
}

/** Another pane is there. @param {string} words its title */
export function showTitle(words) {
  title = withoutCount(words);
  showUnread(shown);
}

/** @param {number} count */
export function showUnread(count) {
  shown = count;
  document.title = count > 0 ? `(${countWords(count)}) ${title}` : title;
  const badge = document.querySelector("[data-unread]");
  if (!(badge instanceof HTMLElement)) return;
  badge.hidden = count === 0;
  const words = badge.querySelector("[data-count]");
  if (words) words.textContent = countWords(count);
}

async function ask() {
  if (document.hidden) return;
  // What cannot be asked now is asked again in a minute.
  const answer = await call("chat/unread").catch(() => null);
  if (answer) showUnread(answer.total);
}

/** On pages that have no socket. One would take chat away from the page that is open elsewhere. */
export function bindUnread() {
  if (!document.querySelector("[data-unread]") || document.querySelector("[data-chat-state]")) return;
  void ask();
  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
}
