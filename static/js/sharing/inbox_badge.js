/* How many notifications wait, beside Inbox in the navigation. */
import { call } from "../api.js";

const EVERY_MS = 60_000;

/** @param {HTMLElement} badge @param {number} count */
function show(badge, count) {
  badge.hidden = count === 0;
  const words = badge.querySelector("[data-count]");
  if (words) words.textContent = count > 99 ? "99+" : String(count);
}

export function bindInboxBadge() {
  const badge = document.querySelector("[data-news-unread]");
  if (!(badge instanceof HTMLElement)) return;
  const ask = async () => {
    if (document.hidden) return;
    // What cannot be asked now is asked again in a minute.
    const answer = await call("notifications/seen").catch(() => null);
    if (answer) show(badge, answer.unseen);
  };
  void ask();
  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
}
