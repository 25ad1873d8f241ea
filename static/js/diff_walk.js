/* From change to change, by button or key. */
import { bindKey } from "./keys.js";
import { one } from "./dom.js";

export class DiffWalk {
  /** @param {HTMLElement} root the difference */
  constructor(root) {
    this.root = root;
    this.at = -1;
    this.where = one("[data-change-count]");
    one("[data-change-next]").addEventListener("click", () => this.step(1));
    one("[data-change-previous]").addEventListener("click", () => this.step(-1));
    bindKey("n", "Next change", () => this.step(1));
    bindKey("p", "Previous change", () => this.step(-1));
  }

  get #changes() {
    return /** @type {HTMLElement[]} */ ([...this.root.querySelectorAll("[data-change]")]);
  }

  /** The difference is another one. */
  restart() {
    this.at = -1;
    this.#say();
  }

  #say() {
    const { length } = this.#changes;
    const words = length === 0 ? "No changes" : `${length.toLocaleString()} ${length === 1 ? "change" : "changes"}`;
    this.where.textContent = this.at < 0 ? words : `${(this.at + 1).toLocaleString()} of ${length.toLocaleString()}`;
  }

  /** @param {number} step */
  step(step) {
    const changes = this.#changes;
    if (changes.length === 0) return;
    changes[this.at]?.classList.remove("is-here");
    this.at = this.at < 0 ? (step > 0 ? 0 : changes.length - 1) : (this.at + step + changes.length) % changes.length;
    changes[this.at].classList.add("is-here");
    changes[this.at].scrollIntoView({ block: "center" });
    this.#say();
  }
}
