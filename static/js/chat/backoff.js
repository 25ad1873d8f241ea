/* When to come back after the socket closed, and when not to. */

const BASE_MS = 500;
const CAP_MS = 30_000;
const RESTART_MS = 3000;
const SLOW = 4408;
/** So long after the welcome a connection counts as stable, and the next loss as the first. */
export const STABLE_MS = 60_000;

/**
 * Whether to stay away: signed out, not allowed, replaced.
 * @param {number} code of the close frame
 */
export function isFinal(code) {
  return code >= 4400 && code < 4500 && code !== SLOW;
}

/**
 * Milliseconds to wait: capped first, then spread over the whole span, or all come back at the same moment.
 * @param {number} attempt how many attempts in a row failed, 0 after a stable connection
 * @param {number} code
 * @param {() => number} [random] from 0 to 1
 */
export function waitBefore(attempt, code, random = Math.random) {
  if (attempt === 0 && (code === 1001 || code === 1012)) return random() * RESTART_MS;
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 16));
}
