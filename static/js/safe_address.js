/* Addresses that somebody else wrote. */

const SCHEMES = ["http:", "https:", "mailto:"];

/**
 * @param {string} given
 * @returns {URL | null} null unless it is an absolute address of a scheme that only opens something
 */
export function safeAddress(given) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(given)) return null;
  try {
    const url = new URL(given);
    return SCHEMES.includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}
