/*
 * An answer as it arrives, as Markdown or as the exact text. It is painted once a frame, less often where a paint takes
 * long, and followed only by who is already reading its end and has nothing selected.
 */
import { MarkdownView } from "./markdown/markdown_view.js";
import { scrollerOf } from "./scrolling.js";

/** @typedef {"markdown" | "raw"} View */

const NEAR_END_PX = 40;
/** After a paint there is a pause of so many times its length, but no text waits longer than this. */
const PAUSE_FACTOR = 4;
const LONGEST_PAUSE_MS = 1000;
const FRAME_MS = 16;

export class Answer {
  /**
   * @param {HTMLElement} box what scrolls, unless the page itself does
   * @param {HTMLElement} markdown
   * @param {HTMLElement} raw
   */
  constructor(box, markdown, raw) {
    this.box = box;
    this.raw = raw;
    this.text = "";
    this.markdown = new MarkdownView(markdown);
    this.node = document.createTextNode("");
    raw.replaceChildren(this.node);
    /** @type {View} */
    this.view = "markdown";
    this.isWhole = true;
    this.timer = 0;
    this.frame = 0;
    this.cost = 0;
  }

  /** @param {string} text more of it */
  append(text) {
    this.text += text;
    this.isWhole = false;
    // A tab in the background paints no frames, and its text must not pile up unseen by assistive technology.
    if (document.hidden) this.#paint();
    else if (this.frame === 0 && this.timer === 0) this.#schedule();
  }

  /** @param {string} text all of it, so far; what is being read stays where it is */
  replace(text) {
    this.text = text;
    this.isWhole = false;
    this.#paint({ mayFollow: false });
  }

  /** All of it has arrived. */
  finish() {
    this.isWhole = true;
    this.#paint({ mayFollow: false });
  }

  /** @param {View} view */
  show(view) {
    this.view = view;
    this.markdown.element.hidden = view !== "markdown";
    this.raw.hidden = view !== "raw";
    this.#paint({ mayFollow: false });
  }

  #schedule() {
    const wait = Math.min(this.cost * PAUSE_FACTOR, LONGEST_PAUSE_MS);
    const paintSoon = () => {
      this.timer = 0;
      this.frame = requestAnimationFrame(() => this.#paint());
    };
    if (wait <= FRAME_MS) paintSoon();
    else this.timer = window.setTimeout(paintSoon, wait);
  }

  #paint({ mayFollow = true } = {}) {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.frame = this.timer = 0;
    const begun = performance.now();
    const scroller = scrollerOf(this.box);
    const follows = mayFollow && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX && !this.#isSelected;
    this.#paintRaw();
    if (this.view === "markdown") {
      if (this.isWhole) this.markdown.finish(this.text);
      else this.markdown.show(this.text);
    }
    if (follows) scroller.scrollTop = scroller.scrollHeight;
    this.cost = performance.now() - begun;
  }

  /* Kept up with whatever is shown: it is what is copied, and a hidden text costs no layout. */
  #paintRaw() {
    const had = this.node.data;
    if (this.text.startsWith(had)) this.node.appendData(this.text.slice(had.length));
    else this.node.data = this.text;
  }

  /* Following the end would pull the text from under who is selecting in it. */
  get #isSelected() {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && this.box.contains(selection.anchorNode);
  }
}
