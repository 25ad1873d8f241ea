/* How many messages wait: beside Chat in the navigation, and before the title of the page. */

const title = document.title;

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
