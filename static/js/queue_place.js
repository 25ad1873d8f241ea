/* How many runs of the same person were queued before this one. */
import { call } from "./api.js";

const MOST = 100;

/**
 * @param {string} id
 * @returns {Promise<{count: number, isMore: boolean} | null>} null if nobody can tell, or it waits no more
 */
export async function runsBefore(id) {
  const page = await call(`runs?status=queued&limit=${MOST}`).catch(() => null);
  if (!page) return null;
  const index = page.results.findIndex((/** @type {{id: string}} */ run) => run.id === id);
  // Newest first: what stands below it was queued earlier.
  return index < 0 ? null : { count: page.results.length - 1 - index, isMore: Boolean(page.next) };
}
