/* One comment as elements: who, when, what. Every character of it becomes a text node. */
import { showBody } from "../chat/body_view.js";
import { el } from "../dom.js";
import { timeElement } from "../time.js";

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/**
 * Marks `@Name` of those who are mentioned.
 * @param {HTMLElement} body
 * @param {{name: string}[]} people
 */
function markMentions(body, people) {
  for (const { name } of people) {
    const words = `@${name}`;
    const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    /** @type {Text[]} */
    const texts = [];
    while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
    for (const text of texts) {
      const at = text.data.indexOf(words);
      if (at < 0 || text.parentElement?.closest("code, .mention")) continue;
      const found = text.splitText(at);
      found.splitText(words.length);
      found.replaceWith(el("bdi", { class: "mention" }, words));
    }
  }
}

/**
 * @param {any} comment as the API gives it
 * @param {{onEdit?: () => void, onDelete?: () => void}} actions those that this person may do
 * @returns {HTMLElement}
 */
export function commentView(comment, { onEdit, onDelete }) {
  const who = comment.author?.name ?? "A removed account";
  const head = el("p", { class: "comment-head" }, el("bdi", { class: "comment-author truncate" }, who), timeElement(comment.created_at));
  if (comment.edited_at && !comment.deleted) head.append(el("span", { class: "faint", title: exact.format(new Date(comment.edited_at)) }, "edited"));
  const body = el("div", { class: "comment-body bubble-text" });
  if (comment.deleted) body.append(el("p", { class: "faint" }, "Comment deleted"));
  else showBody(body, comment.body);
  markMentions(body, comment.mentions);
  const tools = el("span", { class: "comment-tools" });
  const tool = (/** @type {string} */ words, /** @type {(() => void) | undefined} */ action) => {
    if (!action || comment.deleted) return;
    const button = el("button", { class: "button-link", type: "button" }, words);
    button.addEventListener("click", action);
    tools.append(button);
  };
  tool("Edit", onEdit);
  tool("Delete", onDelete);
  if (tools.childElementCount > 0) head.append(tools);
  return el("li", { class: "comment", "data-comment": comment.id }, head, body);
}
