/* How well a line fits what was typed: every word must be found, in any order; beginnings of words count most. */

/**
 * @param {string} text
 * @returns {string}
 */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/**
 * @param {string} text
 * @param {string} query
 * @returns {number} 0 if it does not fit, more for a better fit
 */
export function score(text, query) {
  const words = plain(query).split(/\s+/).filter(Boolean);
  const line = plain(text);
  let total = 1;
  for (const word of words) {
    const at = line.indexOf(word);
    if (at === -1) return 0;
    if (at === 0) total += 4;
    else if (/[^\p{L}\p{N}]/u.test(line[at - 1])) total += 2;
    total += word.length / Math.max(line.length, 1);
  }
  return total;
}

/**
 * The items that fit, the best first; in the given order where they fit alike.
 * @template {{title: string, hint?: string}} T
 * @param {T[]} items
 * @param {string} query
 * @param {number} most
 * @returns {T[]}
 */
export function fitting(items, query, most) {
  if (!query.trim()) return items.slice(0, most);
  return items
    .map((item, index) => ({ item, index, value: Math.max(score(item.title, query), 0.5 * score(`${item.title} ${item.hint ?? ""}`, query)) }))
    .filter(({ value }) => value > 0)
    .sort((one, other) => other.value - one.value || one.index - other.index)
    .slice(0, most)
    .map(({ item }) => item);
}
