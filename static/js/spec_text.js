/* The text at a place of a spec: `system`, `messages.1`, `messages.1.0`, `tools`. */

/**
 * @param {import("./spec.js").Spec} spec
 * @param {string} place
 * @returns {string | null}
 */
export function textAt(spec, place) {
  const [field, ...path] = place.split(".");
  const content = field === "messages" ? spec.messages[Number(path.shift())]?.content : spec[field];
  const block = path.length > 0 && Array.isArray(content) ? content[Number(path[0])] : undefined;
  if (block === undefined) return typeof content === "string" ? content : null;
  if (block?.type === "text" && typeof block.text === "string") return block.text;
  return JSON.stringify(block, null, 2);
}
