/* How far the comparison before a save is: a large text on its way to the server, the server at work, or why neither. */
import { one } from "./dom.js";
import { sizeWords } from "./large/sizes.js";

const VERBS = { read: "Reading", send: "Sending", check: "Storing" };
/** What is quicker needs no word; a screen reader would only be interrupted. */
const QUIET_MS = 300;
const SECOND_MS = 1000;

export class CompareProgress {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.bar = one("progress", root, HTMLProgressElement);
    this.words = one("p", root, HTMLElement);
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /**
   * @param {"read" | "send" | "check" | "wait"} part
   * @param {number} done of 1
   * @param {number} bytes of the text
   */
  sending(part, done, bytes) {
    clearTimeout(this.timer);
    const percent = `${Math.floor(done * 100)} %`;
    if (part === "wait") {
      this.#paint(`The connection was cut with ${percent} sent. The difference is shown when it is back; saving waits for it too.`, done);
      return;
    }
    const words = `${VERBS[part]} ${sizeWords(bytes)} to compare it …`;
    this.#paint(part === "check" ? words : `${words} ${percent}`, part === "check" ? null : done);
  }

  /** The server has everything. From a second on it is said how long it has been. */
  comparing() {
    clearTimeout(this.timer);
    const start = performance.now();
    const tick = () => {
      const seconds = Math.floor((performance.now() - start) / SECOND_MS);
      this.#paint(seconds < 1 ? "Comparing …" : `Comparing … ${seconds.toLocaleString()} s`, null);
      this.timer = setTimeout(tick, SECOND_MS);
    };
    if (this.root.hidden) this.timer = setTimeout(tick, QUIET_MS);
    else tick();
  }

  /** @param {string} why */
  fail(why) {
    clearTimeout(this.timer);
    this.root.hidden = false;
    this.bar.hidden = true;
    this.words.textContent = why;
  }

  end() {
    clearTimeout(this.timer);
    this.root.hidden = true;
  }

  /** @param {string} text @param {number | null} done of 1; null for nobody knows */
  #paint(text, done) {
    this.root.hidden = false;
    this.bar.hidden = false;
    if (this.words.textContent !== text) this.words.textContent = text;
    if (done === null) this.bar.removeAttribute("value");
    else this.bar.value = done;
  }
}
