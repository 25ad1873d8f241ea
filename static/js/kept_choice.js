/* A choice of how to look at things, remembered in this browser. */

/**
 * @param {string} name
 * @param {string} fallback
 */
export function keptChoice(name, fallback) {
  try {
    return localStorage.getItem(name) ?? fallback;
  } catch {
    return fallback;
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function keepChoice(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A choice that is not remembered is no loss.
  }
}
