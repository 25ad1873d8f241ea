/* One thread: its passage, where that is now, what was said, and what one can do. */
import { call, create } from "../api.js";
import { el, icon, one, fromTemplate } from "../dom.js";
import { toast, toastError } from "../toast.js";
import { CommentForm } from "./comment_form.js";
import { commentView } from "./comment_view.js";
import { placeWords } from "./thread_words.js";

/** @typedef {{promptId: string, number: number, mayComment: boolean, owns: boolean, labelOf: (index: number | null) => string, onJump: (thread: any) => void, onChange: () => Promise<void>, onAttach: (thread: any) => void, askDelete: (words: string) => Promise<boolean>}} Desk */

export class ThreadCard {
  /**
   * @param {any} thread
   * @param {Desk} desk
   */
  constructor(thread, desk) {
    this.desk = desk;
    this.thread = thread;
    this.element = fromTemplate("thread");
    this.element.dataset.thread = thread.id;
    /** All comments, once somebody asked for them. @type {any[] | null} */
    this.all = null;
    /** @type {CommentForm | null} */
    this.form = null;
    this.painted = "";
    one("[data-thread-jump]", this.element).addEventListener("click", () => desk.onJump(this.thread));
    one("[data-thread-reply]", this.element).addEventListener("click", () => this.#openReply());
    one("[data-thread-resolve]", this.element).addEventListener("click", () => void this.#act(this.thread.state === "open" ? "resolve" : "reopen"));
    one("[data-thread-yes]", this.element).addEventListener("click", () => void this.#decide(true));
    one("[data-thread-no]", this.element).addEventListener("click", () => void this.#decide(false));
    one("[data-thread-attach]", this.element).addEventListener("click", () => desk.onAttach(this.thread));
    this.update(thread);
  }

  /** Shows what is known of the thread now; what is being written stays. @param {any} thread */
  update(thread) {
    this.thread = thread;
    const seen = JSON.stringify(thread);
    if (seen === this.painted) return;
    this.painted = seen;
    if (this.all && thread.comment_count !== this.all.filter(({ deleted }) => !deleted).length) this.all = null;
    this.#paintPassage();
    this.#paintComments();
    this.#paintActions();
  }

  #paintPassage() {
    const { thread, desk, element } = this;
    const { tone, words, about } = placeWords(thread, desk.number);
    const chip = one("[data-thread-state]", element, HTMLElement);
    element.dataset.state = thread.state;
    element.dataset.place = thread.placement.state;
    chip.hidden = !words;
    chip.textContent = words;
    chip.className = `chip${tone ? ` is-${tone}` : ""}`;
    chip.title = about;
    const jump = one("[data-thread-jump]", element, HTMLButtonElement);
    jump.disabled = thread.placement.text === null;
    jump.title = thread.placement.text === null ? "" : "Show it in the text";
    one("[data-thread-where]", element).textContent = thread.quote === null ? "Whole version" : desk.labelOf(thread.placement.text);
    this.#quote("[data-thread-quote]", thread.quote);
    const suggested = thread.placement.state === "suggested";
    const differs = thread.placement.quote !== null && thread.placement.quote !== thread.quote;
    this.#quote("[data-thread-now]", differs ? thread.placement.quote : null);
    const note = one("[data-thread-about]", element, HTMLElement);
    note.hidden = !(suggested || thread.placement.state === "outdated");
    note.textContent = about;
    one("[data-thread-decide]", element, HTMLElement).hidden = !(suggested && desk.mayComment);
    one("[data-thread-attach]", element, HTMLElement).hidden = !(desk.mayComment && (suggested || thread.placement.state === "outdated" || thread.placement.method === "unique"));
  }

  /** @param {string} selector @param {string | null} words */
  #quote(selector, words) {
    const box = one(selector, this.element, HTMLElement);
    box.hidden = words === null;
    box.textContent = words ?? "";
    box.title = words && words.length > 120 ? words.slice(0, 1000) : "";
  }

  #paintComments() {
    const comments = this.all ?? this.thread.comments;
    const list = one("[data-thread-comments]", this.element);
    const rows = comments.map((/** @type {any} */ comment) => this.#comment(comment));
    const missing = this.thread.comment_count - comments.filter((/** @type {any} */ { deleted }) => !deleted).length;
    if (missing > 0) {
      const more = el("button", { class: "button-link", type: "button" }, missing === 1 ? "Show 1 more reply" : `Show ${missing} more replies`);
      more.addEventListener("click", () => void this.#showAll());
      rows.splice(1, 0, el("li", { class: "comment-more" }, more));
    }
    list.replaceChildren(...rows);
  }

  /** @param {any} comment */
  #comment(comment) {
    const { mayComment, owns } = this.desk;
    return commentView(comment, {
      onEdit: mayComment && comment.mine ? () => this.#openEdit(comment) : undefined,
      onDelete: mayComment && (comment.mine || owns) ? () => void this.#delete(comment) : undefined,
    });
  }

  async #showAll() {
    try {
      this.all = (await call(`threads/${this.thread.id}?version=${this.desk.number}`)).comments;
      this.#paintComments();
    } catch (error) {
      toastError(error);
    }
  }

  #paintActions() {
    const resolved = this.thread.state === "resolved";
    const button = one("[data-thread-resolve]", this.element, HTMLButtonElement);
    button.replaceChildren(icon(resolved ? "rotate-ccw" : "check"), resolved ? "Open again" : "Resolve");
    one("[data-thread-actions]", this.element, HTMLElement).hidden = !this.desk.mayComment || this.form !== null;
    const by = one("[data-thread-resolved]", this.element, HTMLElement);
    by.hidden = !resolved;
    by.textContent = resolved ? `Resolved by ${this.thread.resolved_by?.name ?? "a removed account"}` : "";
  }

  #openReply() {
    this.#open(
      new CommentForm(this.desk.promptId, {
        label: "Reply",
        action: "Reply",
        onSend: async (sent, key) => {
          await create(`threads/${this.thread.id}/comments`, sent, key);
          this.#close();
          await this.desk.onChange();
        },
        onClose: () => this.#close(),
      }),
      one("[data-thread-form]", this.element),
    );
  }

  /** @param {any} comment */
  #openEdit(comment) {
    const row = one(`[data-comment="${comment.id}"] .comment-body`, this.element, HTMLElement);
    this.#open(
      new CommentForm(this.desk.promptId, {
        label: "Edit comment",
        action: "Save",
        text: comment.body,
        people: comment.mentions,
        onSend: async (sent) => {
          await call(`comments/${comment.id}`, { method: "PATCH", body: sent });
          this.all = null;
          this.#close();
          await this.desk.onChange();
        },
        onClose: () => {
          this.#close();
          this.#paintComments();
        },
      }),
      row,
    );
  }

  /** @param {CommentForm} form @param {Element} place */
  #open(form, place) {
    this.#close();
    this.form = form;
    place.replaceChildren(form.element);
    this.#paintActions();
    form.focus();
  }

  #close() {
    const had = this.form?.element.contains(document.activeElement) ?? false;
    this.form?.element.remove();
    this.form = null;
    this.#paintActions();
    if (had) one("[data-thread-reply]", this.element, HTMLElement).focus();
  }

  /** @param {any} comment */
  async #delete(comment) {
    const last = this.thread.comment_count === 1;
    if (!(await this.desk.askDelete(last ? "The thread goes with its only comment." : "The thread keeps a note that a comment was deleted."))) return;
    await this.#do(() => call(`comments/${comment.id}`, { method: "DELETE" }));
  }

  /** @param {string} action */
  #act(action) {
    return this.#do(() => call(`threads/${this.thread.id}/${action}`, { method: "POST" }));
  }

  /** @param {boolean} accept */
  async #decide(accept) {
    await this.#do(() => call(`threads/${this.thread.id}/place`, { method: "POST", body: { version: this.desk.number, accept } }));
    toast(accept ? "The comment stays with these words from now on." : "The comment is outdated in this version.");
  }

  /** @param {() => Promise<unknown>} action */
  async #do(action) {
    try {
      await action();
      this.all = null;
    } catch (error) {
      toastError(error);
    }
    await this.desk.onChange();
  }
}
