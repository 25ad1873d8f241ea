/* Whether Enter sends. Never the one that confirms what an input method composed. */

/** Some browsers end the composition first and report the key afterwards. */
const AFTER_COMPOSING_MS = 100;

/**
 * @param {{key: string, shiftKey: boolean, altKey: boolean, ctrlKey: boolean, metaKey: boolean, isComposing: boolean, keyCode: number, timeStamp: number}} event
 * @param {number} composedAt time stamp of the last end of a composition
 * @param {boolean} byTouch on a screen keyboard Enter starts a line, and the button sends
 */
export function sends(event, composedAt, byTouch) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return false;
  if (event.timeStamp - composedAt < AFTER_COMPOSING_MS) return false;
  if (event.ctrlKey || event.metaKey) return true;
  return !event.shiftKey && !event.altKey && !byTouch;
}
