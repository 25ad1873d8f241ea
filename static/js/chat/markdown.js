/*
 * Markdown, the part that people use in messages: code, lists, links. Text in, plain data out; nothing of it is ever
 * read as HTML. A link goes to http, https or mailto; anything else stays the text that it is.
 */

import { safeAddress } from "../safe_address.js";

/** @typedef {{kind: "text", text: string} | {kind: "code", text: string} | {kind: "link", text: string, href: string, host: string}} Span */
/** @typedef {{kind: "code", text: string} | {kind: "text", spans: Span[]} | {kind: "list", ordered: boolean, start: number, items: Span[][]}} Block */

const INLINE = /`([^`\n]+)`|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)|(?<![\p{L}\p{N}])(?:https?:\/\/|mailto:)[^\s<>"`]+/gu;
const ITEM = /^ {0,3}(?:[-*+]|(\d{1,9})[.)]) +(?=\S)/;
const FENCE = /^ {0,3}```/;

/** What a sentence puts behind an address is not part of it. @param {string} address */
function withoutTail(address) {
  let end = address.length;
  while (end > 0 && /[.,;:!?'*_]/.test(address[end - 1])) end -= 1;
  if (address[end - 1] === ")" && !address.slice(0, end).includes("(")) end -= 1;
  return address.slice(0, end);
}

/** @param {string} text @returns {Span[]} */
export function spansOf(text) {
  /** @type {Span[]} */
  const spans = [];
  let done = 0;
  const flush = (/** @type {number} */ upto) => {
    if (upto > done) spans.push({ kind: "text", text: text.slice(done, upto) });
  };
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, words, target] = match;
    const address = words === undefined && code === undefined ? withoutTail(whole) : target;
    const url = address === undefined ? null : safeAddress(address);
    if (code === undefined && !url) continue;
    flush(match.index);
    done = match.index + whole.length;
    if (code !== undefined) {
      spans.push({ kind: "code", text: code });
    } else if (url && words !== undefined) {
      // Words may name another place than the one they lead to: the place is said, too.
      spans.push({ kind: "link", text: words, href: url.href, host: words === address ? "" : url.host || url.pathname });
    } else if (url && address !== undefined) {
      spans.push({ kind: "link", text: address, href: url.href, host: "" });
      done = match.index + address.length;
    }
  }
  flush(text.length);
  return spans;
}

/**
 * @param {string} text
 * @returns {Block[]} lines that belong together are one block, however many they are
 */
export function blocksOf(text) {
  const lines = text.split("\n");
  /** @type {Block[]} */
  const blocks = [];
  /** @type {string[]} */
  let plain = [];
  const flush = () => {
    const first = plain.findIndex((line) => line !== "");
    const last = plain.findLastIndex((line) => line !== "");
    if (first >= 0) blocks.push({ kind: "text", spans: spansOf(plain.slice(first, last + 1).join("\n")) });
    plain = [];
  };
  for (let at = 0; at < lines.length; ) {
    const block = FENCE.test(lines[at]) ? codeAt(lines, at) : listAt(lines, at);
    if (block) {
      flush();
      blocks.push(block.block);
      at = block.next;
    } else {
      plain.push(lines[at]);
      at += 1;
    }
  }
  flush();
  return blocks;
}

/** @param {string[]} lines @param {number} at @returns {{block: Block, next: number} | null} */
function codeAt(lines, at) {
  const end = lines.findIndex((line, index) => index > at && /^ {0,3}```\s*$/.test(line));
  const last = end === -1 ? lines.length : end;
  const text = lines.slice(at + 1, last).join("\n");
  return text ? { block: { kind: "code", text }, next: last + 1 } : null;
}

/** @param {string[]} lines @param {number} at @returns {{block: Block, next: number} | null} */
function listAt(lines, at) {
  const first = ITEM.exec(lines[at]);
  if (!first) return null;
  const ordered = first[1] !== undefined;
  const items = [];
  let next = at;
  for (let mark = ITEM.exec(lines[next] ?? ""); mark && (mark[1] !== undefined) === ordered; mark = ITEM.exec(lines[next] ?? "")) {
    items.push(spansOf(lines[next].slice(mark[0].length)));
    next += 1;
  }
  return { block: { kind: "list", ordered, start: Number(first[1] ?? 1), items }, next };
}
