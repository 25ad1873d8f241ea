/*
 * A place for one text of a spec, whatever its size: an editor for what is short, a card for a file on its way, a
 * window on a large text that is saved. Reads as a string, or as the reference that names the text.
 */
import { el } from "../dom.js";
import { dropNotice, notice } from "../notices.js";
import { may } from "../sharing/permissions.js";
import { TextEditor } from "../text_editor.js";
import { toast } from "../toast.js";
import { bindDropping, pickFile } from "./dropping.js";
import { FileCard } from "./file_card.js";
import { isBody, isReference, isUnsent, isUpload } from "./references.js";
import { LARGE, sizeWords } from "./sizes.js";
import { cardWords, halfCharacter, learnVariables } from "./slot_words.js";
import { loadWhole, sendEdited } from "./slot_transfers.js";
import { home } from "./text_home.js";
import { TextSource } from "./text_source.js";
import { TextWindow } from "./text_window.js";
import { upload } from "./uploader.js";

/** @typedef {import("./references.js").Reference} Reference */
/** @typedef {(part: "read" | "send" | "check" | "wait", done: number, bytes: number) => void} Watch done: of 1 */

let changes = 0;

export class TextSlot {
  /**
   * @param {HTMLElement} parent
   * @param {ConstructorParameters<typeof TextEditor>[1]} options
   */
  constructor(parent, options) {
    this.options = options;
    this.onChange = options.onChange ?? (() => {});
    this.box = el("div", { class: "slot-editor" });
    this.other = el("div", { class: "slot-other" });
    parent.append(this.box, this.other);
    this.editor = new TextEditor(this.box, { ...options, readOnly: !may("change"), onChange: () => this.#edited() });
    /** What this place holds instead of a written text. @type {Reference | null} */
    this.reference = null;
    /** The window on what it names. @type {TextWindow | null} */
    this.reader = null;
    /** A large text in the editor: what names it as long as `base` is what the editor holds. @type {Reference | null} */
    this.origin = null;
    this.base = this.editor.start;
    this.unsent = 0;
    /** The file on its way. kept: what it replaces. @type {{promise: Promise<void>, stop: AbortController, kept: any} | null} */
    this.sending = null;
    /** The edited text on its way. @type {Promise<void> | null} */
    this.delivery = null;
    /** Who asked last to be told how far that is. @type {Watch} */
    this.watch = () => {};
    if (may("change")) bindDropping(parent, { onFile: (file) => this.take(file, file.name), onText: (text) => this.#pasted(text) });
  }

  get view() {
    return this.editor.view;
  }

  get lines() {
    return this.editor.lines;
  }

  /** @param {string | Reference} value */
  load(value) {
    this.sending?.stop.abort(new DOMException("Replaced", "AbortError"));
    this.sending = null;
    this.origin = null;
    if (isReference(value)) {
      this.#refer(value);
      return;
    }
    this.reference = null;
    this.editor.load(value);
    this.base = this.editor.start;
    this.#show([]);
  }

  /** @returns {any} a string, a reference, or {unsent} for a large text that is still to be sent */
  read() {
    if (this.sending) return { unsent: this.unsent, of: null };
    if (this.reference) return this.reference;
    const { doc } = this.view.state;
    if (this.origin && doc.eq(this.base)) return this.origin;
    if (doc.length > LARGE && this.editor.edited) return { unsent: this.unsent, of: this.origin };
    return this.editor.read();
  }

  /** What stands here instead of a text in the page: its name, or {unsent} for a file on its way; null for a text. */
  get held() {
    return this.sending ? { unsent: this.unsent, of: null } : this.reference;
  }

  get edited() {
    return this.reference !== null || this.editor.edited;
  }

  get isEmpty() {
    return !this.reference && !this.sending && this.editor.isEmpty;
  }

  get note() {
    return this.reference || this.sending ? "" : this.editor.note;
  }

  #edited() {
    this.unsent = changes += 1;
    this.onChange();
  }

  /** @param {Element[]} others what stands in place of the editor, or nothing */
  #show(others) {
    this.box.hidden = others.length > 0;
    this.box.classList.toggle("is-large", this.view.state.doc.length > LARGE);
    this.other.replaceChildren(...others);
  }

  /* The place holds a text by its name: a window on it where it can be read, else a card. */
  #refer(/** @type {Reference} */ reference) {
    this.reference = reference;
    this.editor.load("");
    const address = isBody(reference) ? home.address(reference.body) : null;
    if (address && isBody(reference)) this.#open(new TextSource(address, reference.bytes ?? 0), reference);
    else this.#showCard(reference);
  }

  /**
   * @param {TextSource} source
   * @param {{body: string}} reference
   */
  #open(source, reference) {
    const reader = new TextWindow(source, this.options.label);
    this.reader = reader;
    const edit = /** @type {[string, () => void]} */ ([`Edit ${sizeWords(source.bytes)}`, () => void this.#edit(source)]);
    if (may("change")) reader.offer([edit, ["Replace…", () => this.pick()], ["Remove", () => this.#clear()]]);
    this.#show([reader.element]);
    void reader.open();
    void learnVariables(source, reference.body).then((isNew) => isNew && this.onChange());
  }

  /** @param {Reference} reference */
  #showCard(reference) {
    const { name, facts } = cardWords(reference);
    const card = new FileCard(name);
    card.say(facts, [
      { label: "Replace…", action: () => this.pick() },
      { label: "Remove", action: () => this.#clear() },
    ]);
    this.#show([card.element]);
  }

  #clear() {
    const before = this.reference;
    this.load("");
    this.#edited();
    this.focus();
    if (before) this.#offerBack("The large text was removed.", before);
  }

  /** @param {string} words @param {string | Reference} value */
  #offerBack(words, value) {
    const back = () => {
      this.load(value);
      this.#edited();
    };
    notice(words, { name: "replaced", actions: [{ label: "Put it back", action: back }] });
  }

  /* Everything into the editor: its size was said by the button. */
  async #edit(/** @type {TextSource} */ source) {
    const { reference } = this;
    const reader = [...this.other.children];
    try {
      const text = await loadWhole(source, this.options.label, (card) => this.#show([card]));
      if (this.reference !== reference) return;
      this.reference = null;
      this.editor.load(text);
      this.origin = reference;
      this.base = this.editor.start;
      this.#show([]);
      this.focus();
      this.onChange();
    } catch (error) {
      this.#show(reader);
      toast(/** @type {Error} */ (error).message, { tone: "warn" });
    }
  }

  pick() {
    pickFile((file) => this.take(file, file.name));
  }

  /** @param {string} pasted @returns {boolean} */
  #pasted(pasted) {
    if (this.reference || pasted.length <= LARGE) return false;
    const { state } = this.view;
    const { from, to } = state.selection.main;
    const [before, after] = [state.doc.sliceString(0, from, this.lines.end), state.doc.sliceString(to, state.doc.length, this.lines.end)];
    this.#takeText(before + pasted + after);
    return true;
  }

  /** @param {string} text */
  #takeText(text) {
    const problem = halfCharacter(text);
    if (problem) {
      toast(problem, { tone: "bad" });
      return;
    }
    this.take(new Blob([text], { type: "text/plain" }), "Pasted text");
  }

  /**
   * A file instead of what is here: into the editor if it is short, else to the store.
   * @param {Blob} file
   * @param {string} name
   */
  take(file, name) {
    if (file.size > LARGE) this.#send(file, name, this.read());
    else void this.#takeShort(file, name);
  }

  /** @param {Blob} file @param {string} name */
  async #takeShort(file, name) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
      const before = this.read();
      this.load("");
      this.editor.replace(text);
      if (before !== "" && !isUnsent(before)) this.#offerBack(`${name} is in place of the text that was here.`, before);
    } catch {
      toast(`${name} is not UTF-8 text. Nothing was changed.`, { tone: "bad" });
    }
  }

  /**
   * @param {Blob} file
   * @param {string} name
   * @param {any} before what comes back if the file is not wanted after all
   */
  #send(file, name, before) {
    const card = new FileCard(name);
    const stop = new AbortController();
    const kept = this.sending ? this.sending.kept : isUnsent(before) ? this.editor.read() : before;
    this.sending?.stop.abort(new DOMException("Replaced", "AbortError"));
    const near = isBody(before) ? before.body : undefined;
    const back = () => {
      stop.abort(new DOMException("Cancelled", "AbortError"));
      this.sending = null;
      this.load(kept);
      this.#edited();
    };
    const begin = () => {
      card.say("", [{ label: "Cancel", action: back }]);
      card.advance("read", 0);
      const onProgress = this.#progress(card, file.size);
      const promise = upload(file, { name, near, signal: stop.signal, onProgress });
      this.sending = { stop, kept, promise: promise.then((reference) => this.#sent(stop, reference, kept, name)) };
      this.sending.promise.catch((error) => {
        if (stop.signal.aborted) return;
        card.say(error.message, [{ label: "Try again", action: begin }, { label: "Remove", action: back }], "bad");
      });
      this.#edited();
    };
    this.reference = this.origin = null;
    this.#show([card.element]);
    begin();
  }

  /**
   * @param {AbortController} stop
   * @param {Reference} reference
   * @param {any} before
   * @param {string} name
   */
  #sent(stop, reference, before, name) {
    if (stop.signal.aborted) return;
    this.sending = null;
    this.#refer(reference);
    this.#edited();
    if (before !== "") this.#offerBack(`${name} is in place of the text that was here.`, before);
  }

  /** @param {FileCard} card @param {number} bytes @returns {import("./uploader.js").OnProgress} */
  #progress(card, bytes) {
    return (part, done) => {
      card.advance(part, done);
      this.watch(part, done, bytes);
    };
  }

  /**
   * Sends what is large and edited; afterwards `read` gives no {unsent}. Rejects if it cannot be sent.
   * @param {Watch} [watch] told how far it is, also if somebody else asked for it earlier
   */
  async send(watch) {
    if (watch) this.watch = watch;
    if (this.sending) await this.sending.promise;
    while (isUnsent(this.read())) {
      // A draft and a save may both ask: the text is sent once.
      this.delivery ??= this.#sendEdited().finally(() => {
        this.delivery = null;
      });
      await this.delivery;
    }
  }

  async #sendEdited() {
    const { doc } = this.view.state;
    const near = this.origin && isBody(this.origin) ? this.origin.body : undefined;
    const watch = (/** @type {FileCard} */ card, /** @type {number} */ bytes) => this.#progress(card, bytes);
    this.origin = await sendEdited(this.editor.read(), { label: this.options.label, near, watch }, this.other);
    this.base = doc;
  }

  /** The version was saved: uploads are texts of it now. */
  settle() {
    dropNotice("replaced");
    if (this.origin) this.origin = home.settledText(this.origin);
    if (this.reference && isUpload(this.reference)) this.#refer(home.settledText(this.reference));
  }

  focus() {
    const reader = this.other.querySelector("[data-reader-scroll], button");
    if (this.box.hidden && reader instanceof HTMLElement) reader.focus();
    else this.editor.focus();
  }

  destroy() {
    this.sending?.stop.abort(new DOMException("Removed", "AbortError"));
    this.editor.destroy();
  }
}
