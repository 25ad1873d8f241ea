/*
 * Keeps the draft of an open prompt: in this browser at once, on the server after a pause, one request at a time. What
 * the server has from another tab or browser is never overwritten unseen. Warns on leaving only if nobody has the text.
 */
import { newKey } from "./api.js";
import { DraftNotices } from "./draft_notices.js";
import { Drafts } from "./drafts.js";
import { dropNotice, notice } from "./notices.js";
import { isStale, ServerDraft } from "./server_draft.js";

/** @typedef {import("./drafts.js").Draft} Draft */
/**
 * @typedef {{
 *   current: () => Pick<Draft, "base" | "spec" | "values" | "files">, settle: () => void, load: (draft: Draft) => void,
 *   isUnsent: () => boolean, send: () => Promise<void>,
 * }} Editor current: what is written; settle: brings what was typed a moment ago to `note`; send: sends large texts
 */

const QUIET_MS = 800;
const LARGE_QUIET_MS = 5000;
const AGAIN_MS = 15_000;

/* Where a draft is kept whose version no branch ends at. */
const placeOf = (/** @type {number} */ number) => (number ? `earlier-${number}` : "main");

export class DraftKeeper {
  /**
   * @param {string} promptId
   * @param {{branch: string, number: number}} place the branch that would be saved to; the open version, 0 for none
   * @param {Editor} editor
   */
  constructor(promptId, place, editor) {
    this.promptId = promptId;
    this.editor = editor;
    this.notices = new DraftNotices(promptId, this);
    this.number = place.number;
    this.local = new Drafts(promptId, place.number);
    this.server = new ServerDraft(promptId, place.branch || placeOf(place.number));
    /** The draft of this browser that the page began with. @type {import("./drafts.js").Kept | null} */
    this.adopted = null;
    this.tab = newKey();
    /** What the server has, as it was sent; "" for nothing. */
    this.sent = "";
    this.wanted = false;
    this.ready = false;
    this.busy = false;
    /** The request that is on its way to the server. @type {Promise<void>} */
    this.flight = Promise.resolve();
    /** Over once it is known what the server has. @type {Promise<void>} */
    this.met = Promise.resolve();
    this.discarded = false;
    this.stopped = false;
    /** Whether this browser has what is written. */
    this.here = true;
    /** Whether the server failed to take it. */
    this.failing = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    window.addEventListener("pagehide", () => this.#leave());
    document.addEventListener("visibilitychange", () => document.hidden && this.#leave());
    window.addEventListener("online", () => this.#later(0));
    window.addEventListener("beforeunload", (event) => {
      this.#leave();
      if (this.wanted && !this.here && !this.#isSent) event.preventDefault();
    });
  }

  /** The draft that this browser has of the open version, having said so; or null. */
  offer() {
    const draft = this.local.read();
    if (!draft) return null;
    this.server.revision = draft.revision;
    this.adopted = draft;
    if (draft.spec) this.notices.back(draft.keptAt);
    return draft;
  }

  /** Meets what the server has: takes it if it is newer, keeps both if both moved on. */
  meet() {
    this.met = this.#meet();
    return this.met;
  }

  async #meet() {
    try {
      const rows = await this.server.list();
      const row = rows.find(({ base }) => (base ?? 0) === this.number);
      const other = rows.find((each) => each !== row);
      if (row) this.server.branch = row.branch;
      // The draft of another version stands in this branch's place: it stays, ours goes beside it.
      else if (rows.some(({ branch }) => branch === this.server.branch)) this.server.branch = placeOf(this.number);
      if (row) await this.#meetMine();
      else if (this.adopted?.synced) this.#goneElsewhere();
      else this.server.revision = null;
      if (other) this.notices.elsewhere(other, () => this.server.drop(other.branch));
    } catch {
      this.failing = true;
    }
    this.ready = true;
    this.editor.settle();
  }

  async #meetMine() {
    const theirs = await this.server.read();
    const mine = this.adopted;
    this.editor.settle();
    if (!mine && !this.wanted) this.take(theirs);
    else if (mine && (mine.revision === theirs.revision || mine.tab === theirs.tab)) this.#goOn(mine, theirs.revision);
    else if (mine?.synced && !this.#typedSince(mine)) this.take(theirs);
    else this.#conflict(theirs);
  }

  /** @param {import("./drafts.js").Kept} mine @param {number} revision */
  #goOn(mine, revision) {
    this.server.revision = revision;
    if (mine.synced && !this.#typedSince(mine)) this.sent = this.#content();
  }

  /** @param {Draft} mine */
  #typedSince(mine) {
    const { spec, values } = this.editor.current();
    return JSON.stringify([spec, values]) !== JSON.stringify([mine.spec, mine.values]);
  }

  /* The server had it once: it was saved or thrown away in another tab. */
  #goneElsewhere() {
    this.server.revision = null;
    if (this.adopted && this.#typedSince(this.adopted)) return;
    this.notices.gone(() => this.discard());
  }

  /** The draft of the server comes into the editor. @param {Draft & {revision: number}} theirs */
  take(theirs) {
    this.server.revision = theirs.revision;
    this.stopped = false;
    this.editor.load(theirs);
    // First, or what it holds would seem to have changed since and be sent again, under a revision that may be over.
    this.editor.settle();
    this.sent = this.#content();
    this.local.keep({ ...theirs, synced: true });
    if (theirs.spec) this.notices.back(theirs.keptAt);
    this.#paint();
  }

  /** @param {Draft & {revision: number}} theirs */
  #conflict(theirs) {
    this.stopped = true;
    const mine = { ...this.editor.current(), keptAt: new Date().toISOString(), tab: this.tab, revision: theirs.revision };
    const keepMine = () => {
      this.server.revision = theirs.revision;
      this.stopped = false;
      this.sent = "";
      this.#later(0);
    };
    this.notices.conflict(theirs, {
      mine: keepMine,
      theirs: () => {
        this.take(theirs);
        this.notices.mineIsKept(() => {
          this.editor.load(mine);
          this.editor.settle();
        });
      },
    });
  }

  /** @param {boolean} worthKeeping */
  note(worthKeeping) {
    // Thrown away: the editor shows it until the page is loaded anew, and must not bring it back.
    if (this.discarded) return;
    this.wanted = worthKeeping;
    if (!worthKeeping) {
      if (this.ready && this.sent) void this.forget();
      return;
    }
    if (this.#isSent) {
      this.#paint();
      return;
    }
    this.#keepHere(false);
    this.#later(this.editor.isUnsent() ? LARGE_QUIET_MS : QUIET_MS);
  }

  #content() {
    const { spec, values, files } = this.editor.current();
    return JSON.stringify({ spec, values, files, tab: this.tab });
  }

  /** @param {number} wait */
  #later(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.#sync(), wait);
  }

  /** @param {boolean} synced */
  #keepHere(synced) {
    // A large text that is not sent has no name yet, and no room in this browser.
    const kept = { ...this.editor.current(), keptAt: new Date().toISOString(), tab: this.tab, revision: this.server.revision, synced };
    this.here = !this.editor.isUnsent() && this.local.keep(kept);
    this.#paint();
  }

  async #sync() {
    if (this.busy || this.stopped || this.discarded || !this.ready || !this.wanted) return;
    this.busy = true;
    const { server } = this;
    try {
      await this.editor.send();
      const content = this.#content();
      if (content !== this.sent && this.wanted) await this.#put(content);
      // Saved or thrown away meanwhile: what went out is being removed.
      if (server !== this.server || !this.wanted) return;
      this.sent = content;
      this.failing = false;
      this.#keepHere(this.#content() === content);
      if (this.#content() !== content) this.#later(QUIET_MS);
    } catch (error) {
      if (server === this.server && this.wanted) await this.#failed(error);
    } finally {
      this.busy = false;
    }
  }

  /** @param {string} content @param {{leaving?: boolean}} [options] */
  #put(content, options) {
    const put = this.server.keep(content, this.editor.current().base, options);
    this.flight = put.catch(() => {});
    return put;
  }

  /** @param {unknown} error */
  async #failed(error) {
    this.failing = !isStale(error);
    if (this.failing) {
      this.#later(AGAIN_MS);
      this.#paint();
      return;
    }
    try {
      const rows = await this.server.list();
      if (rows.some(({ branch }) => branch === this.server.branch)) this.#conflict(await this.server.read());
      else this.server.revision = null;
    } catch {
      // Then it is tried again with the next change.
    }
    if (!this.stopped) this.#later(QUIET_MS);
    this.#paint();
  }

  #paint() {
    const saved = this.#isSent;
    const lost = this.wanted && !this.here && this.failing && !saved;
    if (lost) {
      notice("This browser's storage is full and the server does not answer: unsaved text is kept only while this page is open.", { tone: "warn", name: "quota" });
    } else {
      dropNotice("quota");
    }
    if (!this.wanted) this.notices.say("nothing");
    else if (saved) this.notices.say("saved");
    else if (this.failing || this.stopped) this.notices.say(this.here ? "here" : "lost");
    else this.notices.say("saving");
  }

  get #isSent() {
    return !this.editor.isUnsent() && this.#content() === this.sent;
  }

  /* The pause after typing may not be over. */
  #leave() {
    if (this.discarded) return;
    this.editor.settle();
    const content = this.#content();
    if (!this.wanted || content === this.sent || this.stopped || !this.ready || this.editor.isUnsent()) return;
    this.#keepHere(false);
    if (this.busy) return;
    clearTimeout(this.timer);
    this.#put(content, { leaving: true }).then(
      () => {
        this.sent = content;
        this.#keepHere(true);
      },
      () => {},
    );
  }

  /** Throws the draft away, here and there. @param {{reload?: boolean}} [options] */
  async discard({ reload = true } = {}) {
    this.discarded = reload;
    // The page before may have sent a draft as it was left, which this one learns of only now.
    await this.met;
    await this.forget({ surely: true });
    if (reload) location.reload();
  }

  /** A version was made of it. @param {{branch: string, number: number}} place the open one now */
  async saved(place) {
    const done = this.forget();
    this.number = place.number;
    this.local = new Drafts(this.promptId, place.number);
    this.server = new ServerDraft(this.promptId, place.branch);
    this.ready = true;
    this.stopped = false;
    dropNotice("conflict");
    await done;
  }

  /**
   * It was saved as a version, or is as the version again.
   * @param {{surely?: boolean}} [options] surely: also if the server is not known to have one
   */
  async forget({ surely = false } = {}) {
    clearTimeout(this.timer);
    this.wanted = false;
    this.adopted = null;
    dropNotice("draft");
    this.local.forget();
    this.here = true;
    this.#paint();
    const was = surely || this.sent || this.server.revision !== null || this.busy;
    this.sent = "";
    const { server } = this;
    // A request that is on its way would bring the draft back if it came after its removal.
    await this.flight;
    if (was) await server.drop().catch(() => {});
  }
}
