/*
 * Markdown as a tree of plain values. markdown-it only reads: its HTML is never made, every character ends as text of a
 * node, and the elements and attributes below are all that there can be.
 */
import MarkdownIt from "../../vendor/markdown-it.js";
import { safeAddress } from "../safe_address.js";

/** @typedef {{tag: string, attributes: Record<string, string>, children: Tree[]}} Branch */
/** @typedef {Branch | string} Tree */
/** @typedef {import("../../vendor/markdown-it.js").Token} Token */
/** Definitions of links, by their label. @typedef {Record<string, {title: string, href: string}>} References */

/* HTML stays the text that it is. A line end within a paragraph is kept: whoever reads an answer wants to see it. */
const reader = new MarkdownIt({ html: false, linkify: true });
reader.validateLink = (address) => safeAddress(address) !== null;
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
for (const scheme of ["ftp:", "//"]) reader.linkify.add(scheme, null);

const PLAIN = new Set(["p", "ul", "li", "blockquote", "table", "thead", "tbody", "tr", "em", "strong", "s"]);
/** These begin texts of their own, each in its own direction. */
const DIRECTED = new Set(["p", "li", "th", "td", "h3", "h4", "h5", "h6"]);

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...Tree} children
 * @returns {Branch}
 */
function branch(tag, attributes = {}, ...children) {
  return { tag, attributes: DIRECTED.has(tag) ? { dir: "auto", ...attributes } : attributes, children };
}

/**
 * @param {string} text
 * @param {References} [known] defined before; those that `text` defines are added
 * @returns {Token[]}
 */
export function tokensOf(text, known = {}) {
  return reader.parse(text, { references: known });
}

/** @param {Token} token that opens an element */
function opened(token) {
  const { tag } = token;
  if (/^h[1-6]$/.test(tag)) {
    // The pane stands under the page's own headings.
    return branch(`h${Math.min(6, Number(tag[1]) + 2)}`, { class: `md-h${tag[1]}` });
  }
  if (tag === "ol") return branch("ol", startOf(token));
  if (tag === "a") return linkTo(String(token.attrGet("href")));
  if (tag === "th" || tag === "td") return branch(tag, aligned(String(token.attrGet("style") ?? "")));
  return branch(PLAIN.has(tag) ? tag : "div");
}

/** @param {Token} token @returns {Record<string, string>} */
function startOf(token) {
  const start = token.attrGet("start");
  return start === null ? {} : { start: String(Number(start)) };
}

/** @param {string} style what markdown-it writes into it @returns {Record<string, string>} */
function aligned(style) {
  const side = /^text-align:(left|center|right)$/.exec(style)?.[1];
  return side ? { class: `is-${side}` } : {};
}

/** @param {string} address @param {Record<string, string>} [more] */
function linkTo(address, more = {}) {
  const url = safeAddress(address);
  if (!url) return branch("span");
  return branch("a", { href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer nofollow ugc", ...more });
}

/** @param {string} language @param {string} text */
export function codeBlock(language, text) {
  const button = branch("button", { class: "button button-quiet button-small", type: "button", "data-copy-code": "" }, "Copy");
  const head = branch("div", { class: "md-code-head" }, branch("span", { class: "faint" }, language), button);
  const code = branch("code", { dir: "ltr" }, text);
  // A block that is wider than the pane is scrolled by the keyboard, too.
  return branch("div", { class: "md-code" }, head, branch("pre", { tabindex: "0" }, code));
}

/** Nothing is fetched from elsewhere: an image is a link to it. @param {Token} token */
function image(token) {
  const link = linkTo(String(token.attrGet("src")), { class: "md-image" });
  link.children.push(`Image: ${token.content || "without a description"}`);
  link.children.push(...closed(link));
  return link;
}

/** @param {Token} token one without an end of its own @returns {Tree[]} */
function leaf(token) {
  switch (token.type) {
    case "inline":
      return treeOf(token.children ?? []);
    case "fence":
    case "code_block":
      return [codeBlock(token.info.trim().split(/\s+/)[0], token.content.replace(/\n$/, ""))];
    case "code_inline":
      return [branch("code", { dir: "ltr" }, token.content)];
    case "softbreak":
    case "hardbreak":
      return [branch("br")];
    case "hr":
      return [branch("hr")];
    case "image":
      return [image(token)];
    default:
      return [token.content];
  }
}

/** Who reads a link sees where it leads, unless its words say so. @param {Branch} link @returns {Tree[]} */
function closed(link) {
  const url = link.tag === "a" ? safeAddress(link.attributes.href) : null;
  const words = link.children.join("");
  if (!url || words.includes(url.host || url.pathname)) return [];
  return [branch("bdi", { class: "faint" }, ` (${url.host || url.pathname})`)];
}

/**
 * @param {Token[]} tokens
 * @returns {Tree[]}
 */
export function treeOf(tokens) {
  const root = branch("div");
  const open = [root];
  for (const token of tokens) {
    const parent = open[open.length - 1];
    if (token.hidden) continue;
    if (token.nesting === 1) {
      const element = opened(token);
      // A wide table scrolls by itself and does not widen what it stands in.
      const shown = element.tag === "table" ? branch("div", { class: "md-table", tabindex: "0" }, element) : element;
      parent.children.push(shown);
      open.push(element);
    } else if (token.nesting === -1) {
      open.pop();
      open[open.length - 1].children.push(...closed(parent));
    } else {
      parent.children.push(...leaf(token).filter((child) => child !== ""));
    }
  }
  return root.children;
}
