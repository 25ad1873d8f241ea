/* The comments of the open version: read every few seconds while they are looked at, marked in the text, written here. */
import { ApiError, call, create } from "../api.js";
import { el, one } from "../dom.js";
import { may } from "../sharing/permissions.js";
import { showPane } from "../panes.js";
import { toast, toastError } from "../toast.js";
import { CommentForm } from "./comment_form.js";
import { askDelete } from "./delete_question.js";
import { ThreadCard } from "./thread_card.js";
import { inOrder } from "./thread_words.js";

/** @typedef {import("./texts.js").Texts} Texts */
/** @typedef {import("./texts.js").Passage} Passage */

const EVERY_MS = 10_000;
/* While something else is seen beside the text: the marks in it are still kept up. */
const SELDOM_MS = 60_000;
const SOON_MS = 1500;
const MOST_PAGES = 5;

export class CommentPane {
  /**
   * @param {import("../workbench.js").Workbench} bench
   * @param {Texts} texts
   */
  constructor(bench, texts) {
    this.bench = bench;
    this.texts = texts;
    this.root = one("[data-comments]", document, HTMLElement);
    this.tab = one("#tab-comments", document, HTMLElement);
    this.list = one("[data-threads]", this.root, HTMLElement);
    this.filter = "open";
    /** @type {any[]} */
    this.threads = [];
    /** @type {Map<string, ThreadCard>} */
    this.cards = new Map();
    this.active = "";
    /** @type {CommentForm | null} */
    this.form = null;
    this.loaded = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.asking = 0;
    this.#bind();
  }

  #bind() {
    one("[data-comments-filter]", this.root).addEventListener("click", (event) => {
      const value = /** @type {Element} */ (event.target).closest("button")?.value;
      if (value) this.#choose(value);
    });
    one("[data-comment-whole]", this.root, HTMLElement).addEventListener("click", () => this.write(null));
    this.tab.addEventListener("click", () => void this.load());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.load();
    });
    this.root.addEventListener("focusin", (event) => {
      const card = /** @type {Element} */ (event.target).closest("[data-thread]");
      if (card instanceof HTMLElement && card.dataset.thread) this.#activate(card.dataset.thread);
    });
  }

  get number() {
    return this.bench.version?.number ?? 0;
  }

  /** @param {string} filter */
  #choose(filter) {
    this.filter = filter;
    for (const button of this.root.querySelectorAll("[data-comments-filter] button")) button.setAttribute("aria-pressed", String(button.getAttribute("value") === filter));
    this.#paint();
  }

  /** Asks for the comments now, and again after a while. */
  async load() {
    clearTimeout(this.timer);
    const asking = (this.asking += 1);
    const { number } = this;
    if (number === 0) {
      this.#paint();
      return;
    }
    try {
      const { threads, pending } = await this.#read(number);
      if (asking !== this.asking || number !== this.number) return;
      this.threads = threads;
      this.loaded = true;
      this.#say("");
      this.#paint();
      this.#later(pending ? SOON_MS : this.isSeen ? EVERY_MS : SELDOM_MS);
    } catch (error) {
      if (asking === this.asking) this.#failed(error);
    }
  }

  /** @param {number} number @returns {Promise<{threads: any[], pending: boolean}>} */
  async #read(number) {
    const threads = [];
    let pending = false;
    let address = `prompts/${this.bench.promptId}/versions/${number}/threads?limit=200`;
    for (let page = 0; address && page < MOST_PAGES; page += 1) {
      const answer = await call(address);
      threads.push(...answer.results);
      pending ||= answer.pending > 0;
      address = answer.next;
    }
    return { threads, pending };
  }

  /** @param {number} wait */
  #later(wait) {
    this.timer = setTimeout(() => {
      if (document.hidden) return;
      void this.load();
    }, wait);
  }

  /** @param {unknown} error */
  #failed(error) {
    const gone = error instanceof ApiError && [401, 403, 404].includes(error.status);
    if (gone) this.threads = [];
    this.#say(gone ? "These comments are no longer shared with you." : "The comments could not be read. This is tried again.");
    this.#paint();
    if (!gone) this.#later(EVERY_MS);
  }

  /** @param {string} words */
  #say(words) {
    const note = one("[data-comments-note]", this.root, HTMLElement);
    note.textContent = words;
    note.hidden = !words;
  }

  /** The version that is open is another one now. */
  reset() {
    this.threads = [];
    this.loaded = false;
    for (const card of this.cards.values()) card.element.remove();
    this.cards.clear();
    void this.load();
  }

  #paint() {
    const shown = this.threads.filter(({ state }) => this.filter === "all" || state === this.filter).sort(inOrder);
    this.#drop(new Set(shown.map(({ id }) => id)));
    shown.forEach((thread, place) => {
      const card = this.cards.get(thread.id) ?? this.#card(thread);
      card.update(thread);
      card.element.classList.toggle("is-active", thread.id === this.active);
      // What is in its place already is not moved: that would take the focus out of a form.
      if (this.list.children[place] !== card.element) this.list.insertBefore(card.element, this.list.children[place] ?? null);
    });
    this.#paintCount();
    this.#paintEmpty(shown.length);
    this.mark();
  }

  /** Takes away the cards of other threads; the focus goes on to the next. @param {Set<string>} ids */
  #drop(ids) {
    if (!ids.has(this.active)) this.active = "";
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      const next = card.element.nextElementSibling ?? card.element.previousElementSibling;
      const had = card.element.contains(document.activeElement);
      card.element.remove();
      this.cards.delete(id);
      const heir = next instanceof HTMLElement ? next : one("[data-comments-filter] [aria-pressed=true]", this.root, HTMLElement);
      if (had) heir.focus();
    }
  }

  /** @param {any} thread */
  #card(thread) {
    const card = new ThreadCard(thread, {
      promptId: this.bench.promptId,
      number: this.number,
      mayComment: may("comment"),
      owns: may("own"),
      labelOf: (index) => this.texts.labelOf(index),
      onJump: (each) => void this.jump(each),
      onChange: () => this.load(),
      onAttach: (each) => void this.#attach(each),
      askDelete,
    });
    this.cards.set(thread.id, card);
    return card;
  }

  #paintCount() {
    const open = this.threads.filter(({ state }) => state === "open").length;
    const count = one("[data-comments-count]", this.tab, HTMLElement);
    count.textContent = String(open);
    count.hidden = open === 0;
    const counts = { open, resolved: this.threads.length - open, all: this.threads.length };
    for (const [name, number] of Object.entries(counts)) {
      one(`[data-comments-filter] [value="${name}"] span`, this.root).textContent = number > 0 ? String(number) : "";
    }
  }

  /** @param {number} shown */
  #paintEmpty(shown) {
    const empty = one("[data-comments-empty]", this.root, HTMLElement);
    empty.hidden = shown > 0 || this.form !== null || (this.number > 0 && !this.loaded);
    const none = this.threads.length === 0;
    one("[data-comments-empty-title]", empty).textContent = this.number === 0 ? "Nothing is saved yet" : none ? "No comments yet" : `Nothing ${this.filter === "open" ? "open" : "resolved"}`;
    one("[data-comments-empty-words]", empty).textContent =
      this.number === 0
        ? "Comments are about what is saved. Save a version first."
        : may("comment")
          ? "Select a passage of the text, then press Comment beside it."
          : "You can read comments here. To write some, ask the owner to make you a commenter.";
    one("[data-comment-whole]", this.root, HTMLElement).hidden = this.number === 0 || !may("comment");
  }

  /** Marks the passages in the texts. */
  mark() {
    const shown = this.threads.filter(({ state, id }) => state === "open" || id === this.active);
    this.texts.mark(shown.map((thread) => ({ thread, active: thread.id === this.active })));
  }

  /** @param {string} id */
  #activate(id) {
    if (this.active === id) return;
    this.active = id;
    for (const [each, card] of this.cards) card.element.classList.toggle("is-active", each === id);
    this.mark();
  }

  /** @param {any} thread */
  async jump(thread) {
    this.#activate(thread.id);
    showPane(this.bench.root, "editor");
    if (!(await this.texts.reveal(thread))) toast("This text was changed since it was saved, or is shown as JSON, so the passage cannot be marked in it.", { tone: "warn" });
  }

  /** Brings the pane to the front. */
  show() {
    showPane(this.bench.root, "output");
    this.tab.click();
  }

  /** Whether the comments are what is seen beside the text. */
  get isSeen() {
    return this.root.offsetParent !== null;
  }

  /** The cursor went into the passage of a thread: it is shown if comments are, and nothing takes the focus. @param {string} id */
  point(id) {
    this.#activate(id);
    if (this.isSeen) this.cards.get(id)?.element.scrollIntoView({ block: "nearest" });
    return this.isSeen;
  }

  /** Shows a thread, as a mark in the text or a notification names it. @param {string} id */
  open(id) {
    const thread = this.threads.find((each) => each.id === id);
    if (!thread) return false;
    if (this.filter !== "all" && thread.state !== this.filter) this.#choose("all");
    this.show();
    this.#activate(id);
    const card = this.cards.get(id);
    card?.element.scrollIntoView({ block: "center" });
    card?.element.focus({ preventScroll: true });
    return true;
  }

  /** Opens the form for a new thread. @param {Passage | null} passage null: about the whole version */
  write(passage) {
    if (this.form?.field.value.trim()) {
      this.show();
      this.form.focus();
      toast("Send or cancel the comment that you are writing first.", { tone: "warn" });
      return;
    }
    this.#closeForm();
    this.show();
    const { number } = this;
    const place = one("[data-new-thread]", this.root);
    this.form = new CommentForm(this.bench.promptId, {
      label: passage ? "Comment on this passage" : `Comment on version ${number}`,
      action: "Comment",
      onSend: async (sent, key) => {
        const made = await create(`prompts/${this.bench.promptId}/versions/${number}/threads`, { ...sent, passage }, key);
        this.#closeForm();
        if (this.filter === "resolved") this.#choose("open");
        await this.load();
        this.open(made.id);
      },
      onClose: () => this.#closeForm(),
    });
    const where = passage ? this.texts.labelOf(passage.text) : "Whole version";
    place.replaceChildren(el("p", { class: "thread-where" }, where));
    if (passage) place.append(el("blockquote", { class: "thread-quote", dir: "auto" }, passage.quote));
    place.append(this.form.element);
    this.#paintEmpty(this.list.childElementCount);
    one("[data-comments-scroll]", this.root, HTMLElement).scrollTop = 0;
    this.form.focus();
  }

  #closeForm() {
    this.form = null;
    one("[data-new-thread]", this.root).replaceChildren();
    this.#paintEmpty(this.list.childElementCount);
  }

  /** Says that a thread is about what is selected now. @param {any} thread */
  async #attach(thread) {
    const found = this.texts.lastSelected;
    if (!found || "problem" in found) {
      toast(found ? found.problem : "Select the passage that it is about, then press Attach to selection.", { tone: "warn" });
      return;
    }
    try {
      await call(`threads/${thread.id}/place`, { method: "POST", body: { version: this.number, passage: found.passage } });
      toast("The comment is attached to the selected passage.");
    } catch (error) {
      toastError(error);
    }
    await this.load();
  }
}
