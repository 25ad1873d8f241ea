/* Text that grows at its end: painted once a frame, followed only by who is already reading the end. */

const NEAR_END_PX = 40;

export class Tail {
  /**
   * @param {HTMLElement} box what scrolls, unless the page itself does
   * @param {HTMLElement} element
   */
  constructor(box, element) {
    this.box = box;
    this.node = document.createTextNode("");
    this.pending = "";
    this.frame = 0;
    element.replaceChildren(this.node);
  }

  get #scroller() {
    return getComputedStyle(this.box).overflowY === "visible" ? (document.scrollingElement ?? this.box) : this.box;
  }

  /** @param {string} text */
  append(text) {
    this.pending += text;
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.#paint());
    // A tab in the background paints no frames, and its text must not pile up unseen by assistive technology.
    if (document.hidden) this.#paint();
  }

  /** @param {string} text */
  replace(text) {
    this.pending = "";
    this.node.data = text;
  }

  #paint() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const scroller = this.#scroller;
    const follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
    this.node.appendData(this.pending);
    this.pending = "";
    if (follows) scroller.scrollTop = scroller.scrollHeight;
  }
}
