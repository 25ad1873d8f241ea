/* Shows Markdown that grows, in one element. An answer that is JSON is no Markdown, and is shown as code. */
import { definesLinks, GrowingMarkdown, wholeTree } from "./growing.js";
import { patchChildren } from "./patching.js";
import { codeBlock } from "./tree.js";

const JSON_BEGINS = /^\s*(?:\{\s*(?:["}]|$)|\[\s*[["{])/;

export class MarkdownView {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.growing = new GrowingMarkdown();
    this.shown = "";
    /** How many blocks are not looked at again. */
    this.settled = 0;
    element.replaceChildren();
  }

  clear() {
    this.growing = new GrowingMarkdown();
    this.shown = "";
    this.settled = 0;
    this.element.replaceChildren();
  }

  /** @param {string} text all of it */
  show(text) {
    if (text === this.shown) return;
    if (!text.startsWith(this.shown)) this.clear();
    this.shown = text;
    if (JSON_BEGINS.test(text)) patchChildren(this.element, [codeBlock("JSON", text)]);
    else this.#showMarkdown(text);
  }

  /** @param {string} text */
  #showMarkdown(text) {
    const { blocks, settled } = this.growing.read(text);
    patchChildren(this.element, blocks, this.settled);
    this.settled += settled;
  }

  /** The text is whole: links that were defined after their use are links now. @param {string} text */
  finish(text) {
    this.show(text);
    if (definesLinks(text) && !JSON_BEGINS.test(text)) patchChildren(this.element, wholeTree(text));
  }
}
