/* Keeps the draft of an open prompt: after a pause, and when the page is left. Warns only if it could not be kept. */
import { afterQuiet } from "./dom.js";
import { Drafts } from "./drafts.js";
import { dropNotice, notice } from "./notices.js";
import { relative } from "./time.js";

const QUIET_MS = 600;

export class DraftKeeper {
  /**
   * @param {string} promptId
   * @param {() => Omit<import("./drafts.js").Draft, "keptAt">} current
   * @param {() => void} settle brings what was typed a moment ago to `note`
   */
  constructor(promptId, current, settle) {
    this.promptId = promptId;
    this.current = current;
    this.settle = settle;
    this.drafts = new Drafts(promptId);
    this.pending = false;
    this.lost = false;
    this.later = afterQuiet(() => this.flush(), QUIET_MS);
    window.addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => document.hidden && this.#leave());
    window.addEventListener("beforeunload", (event) => {
      this.#leave();
      if (this.lost) event.preventDefault();
    });
  }

  /**
   * The draft to open with version `number`, having said so; or null, having said where the draft belongs.
   * @param {number} number 0 when there is no version yet
   */
  offer(number) {
    const draft = this.drafts.read();
    if (!draft) return null;
    if (draft.spec && draft.base !== number) {
      this.foreign = true;
      const open = { label: "Open it", action: () => location.assign(`/prompts/${this.promptId}/${draft.base ? `versions/${draft.base}/` : ""}`) };
      notice(`You have unsaved text from version ${draft.base || "none"}, kept ${relative(new Date(draft.keptAt))}.`, {
        name: "draft",
        actions: [open, { label: "Discard it", action: () => this.discard() }],
      });
      return null;
    }
    if (draft.spec) {
      notice(`Your unsaved text from ${relative(new Date(draft.keptAt))} is back.`, {
        name: "draft",
        actions: [{ label: "Discard it", action: () => this.discard({ reload: true }) }],
      });
    }
    return draft;
  }

  /** @param {{reload?: boolean}} [options] */
  discard({ reload = false } = {}) {
    this.forget();
    this.discarded = reload;
    if (reload) location.reload();
  }

  /** @param {boolean} worthKeeping */
  note(worthKeeping) {
    // The draft of another version is not overwritten until something is really written here.
    if (this.foreign && !this.current().spec) return;
    this.foreign = false;
    this.pending = worthKeeping;
    if (worthKeeping) this.later();
    else this.forget();
  }

  /* The pause after typing may not be over. */
  #leave() {
    if (this.discarded) return;
    this.settle();
    this.flush();
  }

  flush() {
    if (!this.pending) return;
    this.pending = false;
    const kept = this.drafts.keep(this.current());
    if (!kept && !this.lost) {
      notice("This browser's storage is full: unsaved text is kept only while this page is open. Save a version.", { tone: "warn", name: "quota" });
    }
    if (kept) dropNotice("quota");
    this.lost = !kept;
  }

  forget() {
    this.pending = false;
    this.lost = false;
    dropNotice("draft");
    this.drafts.forget();
  }
}
