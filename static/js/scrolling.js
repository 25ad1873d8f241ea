/* Where a pane scrolls. */

/**
 * What scrolls for `box`: on narrow screens a pane is as long as its content, and the page scrolls.
 * @param {HTMLElement} box
 */
export function scrollerOf(box) {
  return getComputedStyle(box).overflowY === "visible" ? (document.scrollingElement ?? box) : box;
}
