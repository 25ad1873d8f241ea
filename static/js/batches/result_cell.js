/* A cell of the pass/fail grid: how the answer begins, and a mark for each check. Never colour alone. */
import { el, icon } from "../dom.js";
import { CELLS, verdictWords } from "./batch_words.js";

/** @typedef {import("./batch_words.js").Cell} Cell */
/** @typedef {{label: string, name?: string}} Check */

/** With more checks than this, those that passed are counted and the others are shown. */
const MOST_MARKS = 3;

/** @param {string} tone @param {string} name @param {string} label @param {string} word @param {string} [reason] */
function mark(tone, name, label, word, reason = "") {
  const title = `${label}: ${word}${reason ? `. ${reason}` : ""}`;
  return el("span", { class: `mark is-${tone}`, title }, icon(name), el("span", { class: "truncate", dir: "auto" }, label), el("span", { class: "visually-hidden" }, word));
}

/** @param {Cell} cell @param {Check[]} checks @returns {HTMLElement[]} */
export function marksOf({ checks: verdicts }, checks) {
  const shown = verdicts.map((verdict, index) => ({ verdict, label: checks[index]?.name || checks[index]?.label || `check ${index + 1}` }));
  const one = (/** @type {(typeof shown)[number]} */ { verdict, label }) => {
    const { tone, icon: name, word } = verdictWords(verdict);
    return mark(tone, name, label, word, verdict?.reason);
  };
  if (shown.length <= MOST_MARKS) return shown.map(one);
  const passed = shown.filter(({ verdict }) => verdict?.verdict === "pass").length;
  const others = shown.filter(({ verdict }) => verdict?.verdict !== "pass").map(one);
  return passed > 0 ? [mark("good is-count", "check", `${passed} of ${shown.length}`, "passed"), ...others] : others;
}

/**
 * @param {HTMLElement} place
 * @param {Cell | null | undefined} cell null: not sent yet; undefined: not here yet
 * @param {{checks: Check[], state: string}} batch
 */
export function paintResult(place, cell, { checks, state }) {
  if (!cell) {
    const word = state === "cancelled" ? "not sent" : "to go";
    place.replaceChildren(el("span", { class: "cell-word" }, cell === null ? word : "…"));
    place.dataset.tone = "none";
    return;
  }
  const { word, icon: name, tone } = CELLS[cell.status];
  place.dataset.tone = tone;
  const status = el("span", { class: `mark is-${tone}` }, icon(name), word);
  const text = (cell.error && cell.excerpt === "" ? cell.error.message : cell.excerpt).replace(/\n\s*\n/g, "\n");
  const isEmpty = text === "" && ["done", "passed", "failed"].includes(cell.status);
  const excerpt = isEmpty ? el("span", { class: "cell-word" }, "empty answer") : el("span", { class: "cell-excerpt", dir: "auto" }, text);
  place.replaceChildren(excerpt, el("span", { class: "marks" }, status, ...marksOf(cell, checks)));
}
