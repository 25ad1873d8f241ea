/*
 * Markdown that grows at its end. A block is settled once another block follows it in a line that is whole, because no
 * later line reaches back over that; so only what is open at the end is read again with every piece. What can reach
 * back is the definition of a link: `wholeTree` knows all of them. Pure.
 */
import { tokensOf, treeOf } from "./tree.js";

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./tree.js").Token} Token */

const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;

/** @param {Token[]} tokens @returns {Token[][]} one list for each block that stands at the top */
function blocksOf(tokens) {
  /** @type {Token[][]} */
  const blocks = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting !== -1) blocks.push([]);
    blocks[blocks.length - 1].push(token);
  }
  return blocks;
}

/** Where each line begins, with the line ends that Markdown knows. The last line may be unfinished. @param {string} text */
function lineStarts(text) {
  return [0, ...[...text.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
}

export class GrowingMarkdown {
  constructor() {
    /** How much of the text stands in settled blocks, in UTF-16 units. */
    this.at = 0;
    /** @type {import("./tree.js").References} */
    this.references = {};
  }

  /**
   * @param {string} text all of it, which begins with what was read before
   * @returns {{blocks: Tree[], settled: number}} the blocks from the first that was not settled; so many of them are now
   */
  read(text) {
    const open = text.slice(this.at);
    const blocks = blocksOf(tokensOf(open, { ...this.references }));
    const starts = lineStarts(open);
    const lines = blocks.map((tokens) => tokens[0].map?.[0] ?? 0);
    const settled = lines.findLastIndex((line) => line > 0 && line < starts.length - 1);
    if (settled > 0) this.#settle(open.slice(0, starts[lines[settled]]));
    return { blocks: blocks.map((tokens) => treeOf(tokens)[0]), settled: Math.max(0, settled) };
  }

  /** @param {string} source */
  #settle(source) {
    this.at += source.length;
    // Read again alone: in the open text a definition may have been known when it was still half there.
    if (definesLinks(source)) tokensOf(source, this.references);
  }
}

/** Whether a text may define links, which blocks before it can use. @param {string} text */
export function definesLinks(text) {
  return DEFINITION.test(text);
}

/** All blocks of a text that is whole, with every definition known. @param {string} text @returns {Tree[]} */
export function wholeTree(text) {
  return treeOf(tokensOf(text));
}
