/* How many messages wait: beside Chat in the navigation, and before the title of the page. */

import { call } from "../api.js";

const title = document.title;
const EVERY_MS = 60_000;

/** @param {number} count */
export function countWords(count) {
  return count > 99 ? "99+" : String(count);
}

/** @param {number} count */
export function showUnread(count) {
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
