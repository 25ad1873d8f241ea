/* What is said about where a comment is. */

/**
 * @param {any} thread as the API gives it
 * @param {number} number of the open version
 * @returns {{tone: "" | "good" | "warn" | "bad", words: string, about: string}} words: a mark, "" for none; about: a sentence
 */
export function placeWords({ version, placement }, number) {
  const written = version === number ? "" : `Written on version ${version}.`;
  if (placement.state === "outdated") {
    const who = placement.decided_by ? `${placement.decided_by.name} said that it is not in version ${number}.` : `These words are not in version ${number}.`;
    return { tone: "bad", words: "Outdated", about: `${who} ${written}` };
  }
  if (placement.state === "suggested") {
    const words = placement.method === "elsewhere" ? "The same words stand here now, but not where they stood." : `The words were changed; this reads ${Math.round(placement.confidence * 100)} % like them.`;
    return { tone: "warn", words: "Is this it?", about: `${words} ${written}` };
  }
  if (placement.state === "pending") return { tone: "", words: "Looking for it", about: `It is being looked for in version ${number}. ${written}` };
  if (placement.state === "accepted") return { tone: "good", words: "Confirmed", about: `${placement.decided_by?.name ?? "Somebody"} said that this is the place. ${written}` };
  if (placement.state === "carried" && placement.method === "unique") return { tone: "", words: "Moved", about: `The same words, with other neighbours. ${written}` };
  return { tone: "", words: version === number ? "" : `v${version}`, about: written };
}

/**
 * In the order of the text: what needs a person first, then what is about all of it, then from top to bottom.
 * @param {any} one
 * @param {any} other
 */
export function inOrder(one, other) {
  const rank = (/** @type {any} */ { state, placement }) => (state === "resolved" ? 3 : placement.state === "outdated" ? 0 : placement.text === null ? 1 : 2);
  const [a, b] = [one.placement, other.placement];
  return rank(one) - rank(other) || (a.text ?? 0) - (b.text ?? 0) || (a.bytes?.start ?? 0) - (b.bytes?.start ?? 0) || (one.id < other.id ? -1 : 1);
}
