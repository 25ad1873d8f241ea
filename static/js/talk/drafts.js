/* What is typed as a reply and not sent, per person and run, in this browser. */

/** @typedef {import("./conversation.js").Answer} Answer */
/** @typedef {{text: string, answers: Map<string, Answer>}} Draft */

const PREFIX = "reply-draft";
/** Drafts of this many runs are kept, the oldest go first. */
const MOST = 50;

/** @param {string} run */
const keyOf = (run) => `${PREFIX}:${document.documentElement.dataset.user ?? ""}:${run}`;

/** @param {string} run @returns {Draft} */
export function readDraft(run) {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(run)) ?? "{}");
    return { text: String(kept.text ?? ""), answers: new Map(Object.entries(kept.answers ?? {})) };
  } catch {
    return { text: "", answers: new Map() };
  }
}

/**
 * @param {string} run
 * @param {Draft} draft
 * @returns {boolean} whether it could be kept
 */
export function keepDraft(run, { text, answers }) {
  try {
    if (text === "" && answers.size === 0) {
      localStorage.removeItem(keyOf(run));
      return true;
    }
    localStorage.setItem(keyOf(run), JSON.stringify({ text, answers: Object.fromEntries(answers), at: Date.now() }));
    forgetOldest();
    return true;
  } catch {
    // A full store: the text is still in the page, which says so.
    return false;
  }
}

function forgetOldest() {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(`${PREFIX}:`));
  if (keys.length <= MOST) return;
  const at = (/** @type {string} */ key) => Number(/"at":(\d+)\}$/.exec(localStorage.getItem(key) ?? "")?.[1] ?? 0);
  const byAge = keys.map((key) => ({ key, at: at(key) })).sort((a, b) => a.at - b.at);
  for (const { key } of byAge.slice(0, keys.length - MOST)) localStorage.removeItem(key);
}
