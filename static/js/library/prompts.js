/* What can be done to prompts of the list, one by one through the API, a few at a time. */
import { ApiError, call } from "../api.js";

/** @typedef {{id: string, name: string, description: string, folder: string, tags: string[]}} Row */

const AT_ONCE = 4;

/** @type {Record<string, (row: Row, values: Record<string, any>) => Promise<unknown>>} */
export const ACTIONS = {
  archive: ({ id }) => call(`prompts/${id}/archive`, { method: "POST" }),
  restore: ({ id }) => call(`prompts/${id}/restore`, { method: "POST" }),
  trash: ({ id }) => call(`prompts/${id}/trash`, { method: "POST" }),
  erase: ({ id }, { name }) => call(`prompts/${id}`, { method: "DELETE", body: { name } }),
  rename: ({ id }, { name, description }) => call(`prompts/${id}`, { method: "PATCH", body: { name, description } }),
  move: ({ id }, { folder }) => call(`prompts/${id}`, { method: "PATCH", body: { folder } }),
  tags: ({ id }, { tags }) => call(`prompts/${id}`, { method: "PATCH", body: { tags: tagsOf(tags) } }),
  tag: ({ id, tags }, { tag }) => call(`prompts/${id}`, { method: "PATCH", body: { tags: [...new Set([...tags, tag.trim()])] } }),
};

/**
 * Gives a folder another path; everything in it follows.
 * @param {string} folder
 * @param {Record<string, any>} values `folder`: where to; `merge`: even if there is one of that name
 * @returns {Promise<{folder: string, moved: number}>}
 */
export function moveFolder(folder, values) {
  return call("folders/move", { method: "POST", body: { folder, to: values.folder, merge: values.merge === "yes" } });
}

const DONE = /** @type {Record<string, string>} */ ({
  archive: "Archived",
  restore: "Restored",
  trash: "Moved to the trash, for 30 days:",
  erase: "Erased",
  rename: "Saved",
  move: "Moved",
  tags: "Tags saved of",
  tag: "Tagged",
});

/**
 * @param {string} text separated by commas
 * @returns {string[]}
 */
export function tagsOf(text) {
  return [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];
}

/**
 * @param {string} action
 * @param {Row[]} rows
 */
export function doneWords(action, rows) {
  const what = rows.length === 1 ? rows[0].name : `${rows.length.toLocaleString()} prompts`;
  return `${DONE[action]} ${what}`;
}

/**
 * Does something to each; the first refusal is thrown when all have been tried.
 * @param {string} action
 * @param {Row[]} rows
 * @param {Record<string, any>} [values]
 */
export async function doToEach(action, rows, values = {}) {
  const waiting = [...rows];
  /** @type {unknown[]} */
  const refused = [];
  const worker = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      await ACTIONS[action](row, values).catch((error) => refused.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (refused.length === 0) return;
  const [first] = refused;
  if (rows.length === 1 || !(first instanceof ApiError)) throw first;
  const message = `${rows.length - refused.length} of ${rows.length} are done; the others are as they were. ${first.message}`;
  throw new ApiError({ ...first, message });
}

/**
 * @param {Element} element of the list
 * @returns {Row}
 */
export function rowOf(element) {
  const { prompt, name, description, folder } = /** @type {HTMLElement} */ (element).dataset;
  const tags = [...element.querySelectorAll("data[data-tag]")].map((tag) => /** @type {HTMLDataElement} */ (tag).value);
  return { id: prompt ?? "", name: name ?? "", description: description ?? "", folder: folder ?? "", tags };
}
