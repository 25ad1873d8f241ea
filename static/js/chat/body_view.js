/* The text of a message as elements. Every character of it becomes a text node. */
import { el } from "../dom.js";
import { folded } from "./folding.js";
import { blocksOf } from "./markdown.js";

/** @typedef {import("./markdown.js").Span} Span */
/** @typedef {import("./markdown.js").Block} Block */

const BIG_MOST = 3;
const EMOJI_ONLY = /^(?:\p{Extended_Pictographic}|\p{Emoji_Component}|\u200d|\ufe0f|\s)+$/u;

/** @param {Span} span @returns {(Node | string)[]} */
function spanNodes(span) {
  if (span.kind === "text") return [span.text];
  if (span.kind === "code") return [el("code", {}, span.text)];
  const link = el("a", { href: span.href, target: "_blank", rel: "noopener noreferrer nofollow ugc", title: span.href }, span.text);
  return span.host ? [link, el("bdi", { class: "faint" }, ` (${span.host})`)] : [link];
}

/** @param {Block} block @returns {Node} */
function blockNode(block) {
  // A code block that is cut off by its size is reached by the keyboard.
  if (block.kind === "code") return el("pre", { tabindex: "0" }, el("code", { dir: "ltr" }, block.text));
  if (block.kind === "text") return el("p", { dir: "auto" }, ...block.spans.flatMap(spanNodes));
  const items = block.items.map((spans) => el("li", { dir: "auto" }, ...spans.flatMap(spanNodes)));
  return block.ordered ? el("ol", { dir: "auto", start: block.start }, ...items) : el("ul", { dir: "auto" }, ...items);
}

/** A few emoji and nothing else are shown large. @param {string} text */
function isBig(text) {
  if (text.length > 64 || !/\p{Extended_Pictographic}/u.test(text) || !EMOJI_ONLY.test(text)) return false;
  return [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text.trim())].length <= BIG_MOST;
}

/** @param {HTMLElement} bubble @param {string} text */
function fill(bubble, text) {
  bubble.classList.toggle("is-big", isBig(text));
  bubble.replaceChildren(...blocksOf(text).map(blockNode));
}

/**
 * @param {HTMLElement} bubble
 * @param {string} text
 * @param {boolean} whole whether somebody asked for all of it before
 */
export function showBody(bubble, text, whole = false) {
  const part = whole ? null : folded(text);
  fill(bubble, part ? part.shown : text);
  if (!part) return;
  const size = part.lines > 1 ? `${part.lines.toLocaleString()} lines` : `${part.length.toLocaleString()} characters`;
  const button = el("button", { class: "button button-small", type: "button", "aria-expanded": "false" }, `Show all ${size}`);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "true";
    fill(bubble, open ? part.shown : text);
    button.setAttribute("aria-expanded", String(!open));
    button.textContent = open ? `Show all ${size}` : "Show less";
    bubble.append(button);
    button.focus();
  });
  bubble.append(button);
}
