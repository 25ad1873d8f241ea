/* What is said about drafts: the word in the top bar, and the notices above the editor. */
import { one } from "./dom.js";
import { dropNotice, notice } from "./notices.js";
import { relative } from "./time.js";

const WORDS = {
  nothing: "",
  saving: "Saving…",
  saved: "Saved draft",
  here: "Not saved (kept in this browser)",
  lost: "Not saved",
};

export class DraftNotices {
  /**
   * @param {string} promptId
   * @param {{discard: () => Promise<void>}} keeper
   */
  constructor(promptId, keeper) {
    this.promptId = promptId;
    this.keeper = keeper;
    this.state = one("[data-draft-state]", document, HTMLElement);
  }

  /** @param {keyof typeof WORDS} state */
  say(state) {
    if (this.state.textContent === WORDS[state]) return;
    this.state.textContent = WORDS[state];
    this.state.title = WORDS[state];
  }

  /** @param {string} when */
  back(when) {
    notice(`Your unsaved text from ${relative(new Date(when))} is back.`, {
      name: "draft",
      actions: [{ label: "Discard it", action: () => void this.keeper.discard() }],
    });
  }

  /**
   * @param {import("./server_draft.js").DraftRow} row
   * @param {() => Promise<void>} drop
   */
  elsewhere({ branch, base, updated_at: when }, drop) {
    const open = { label: "Open it", action: () => location.assign(`/prompts/${this.promptId}/${base ? `versions/${base}/` : ""}`) };
    const place = branch.startsWith("earlier-") ? "" : ` on branch ${branch}`;
    notice(`You have unsaved text${place} from version ${base || "none"}, kept ${relative(new Date(when))}.`, {
      name: "elsewhere",
      actions: [open, { label: "Discard it", action: () => void drop().catch(() => {}) }],
    });
  }

  /** @param {() => Promise<void>} discard */
  gone(discard) {
    notice("This unsaved text was saved or thrown away in another tab; the copy of this browser is shown.", {
      name: "draft",
      actions: [{ label: "Discard it", action: () => void discard() }],
    });
  }

  /**
   * @param {{keptAt: string}} theirs
   * @param {{mine: () => void, theirs: () => void}} choose
   */
  conflict({ keptAt }, choose) {
    this.say("here");
    dropNotice("draft");
    notice(`This text was also edited in another tab or browser, ${relative(new Date(keptAt))}. Both are kept until you choose.`, {
      tone: "warn",
      name: "conflict",
      actions: [
        { label: "Keep mine", action: choose.mine },
        { label: "Use the other", action: choose.theirs },
      ],
    });
  }

  /** @param {() => void} back */
  mineIsKept(back) {
    notice("The text of the other tab is shown. Yours is kept while this page is open.", { name: "conflict", actions: [{ label: "Go back to mine", action: back }] });
  }
}
