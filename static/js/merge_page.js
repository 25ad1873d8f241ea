/* Merging one version into a branch: conflicts first, then what merges by itself, then a message. */
import { ApiError, call, create, newKey } from "./api.js";
import { versionPage } from "./addresses.js";
import { DiffView } from "./diff_view.js";
import { placeName } from "./diff_words.js";
import { el, one } from "./dom.js";
import { sayNext } from "./flash.js";
import { MergeQuestion } from "./merge_question.js";
import { questions, resolved } from "./merge_resolve.js";
import { MergeTexts } from "./merge_texts.js";
import { toastError } from "./toast.js";

/** @typedef {{number: number, name: string}} Side `name`: its branch, or "version 3" */
/** @typedef {{promptId: string, branch: string, ours: Side, theirs: Side}} Page */

export class MergePage {
  /**
   * @param {HTMLElement} root
   * @param {Page} page
   */
  constructor(root, page) {
    this.root = root;
    this.page = page;
    this.path = `prompts/${page.promptId}`;
    /** @type {MergeQuestion[]} */
    this.asked = [];
    /** @type {{spec: import("./spec.js").Spec, conflicts: import("./merge_resolve.js").Conflict[], base: number} | null} */
    this.merge = null;
    this.texts = new MergeTexts(page.promptId);
    this.key = newKey();
    this.busy = false;
    this.form = one("[data-merge-form]", root, HTMLFormElement);
    this.button = one("[data-merge-save]", this.form, HTMLButtonElement);
    this.details = one("[data-merge-details]", root, HTMLDetailsElement);
    this.diff = new DiffView(one("[data-diff]", root, HTMLElement));
    this.details.addEventListener("toggle", () => this.#compare());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#save();
    });
  }

  async start() {
    const { ours, theirs } = this.page;
    try {
      this.merge = await call(`${this.path}/merge?ours=${ours.number}&theirs=${theirs.number}`);
    } catch (error) {
      this.#refused(error);
      return;
    }
    this.#show();
  }

  /** @param {string} text */
  #say(text) {
    const state = one("[data-merge-state]", this.root, HTMLElement);
    state.textContent = text;
    state.hidden = !text;
  }

  #show() {
    if (!this.merge) return;
    const names = { ours: this.page.ours.name, theirs: this.page.theirs.name };
    this.asked = questions(this.merge.conflicts).map((question, index) => new MergeQuestion(question, `${index + 1}. ${this.#name(question.conflict)}`, names, () => this.#changed()));
    const count = this.asked.length;
    const both = `Both come from version ${this.merge.base}.`;
    this.#say(count === 0 ? `${both} Nothing clashes: what each side changed is taken.` : `${both} ${count === 1 ? "One thing was" : `${count} things were`} changed differently on both sides. Choose for each; the rest merges by itself.`);
    one("[data-conflicts]", this.root).replaceChildren(...this.asked.map((each) => each.element));
    one("[data-merge-rest]", this.root, HTMLElement).hidden = false;
    this.#changed();
  }

  /** @param {import("./merge_resolve.js").Conflict} conflict */
  #name({ place }) {
    const index = /^messages\.(\d+)$/.exec(place)?.[1];
    return placeName(place, index === undefined ? "" : this.merge?.spec.messages[Number(index)]?.role);
  }

  #changed() {
    const left = this.asked.filter((each) => each.choice === null).length;
    this.button.disabled = left > 0;
    one("[data-merge-left]", this.form).textContent = left > 0 ? `${left} ${left === 1 ? "conflict" : "conflicts"} to decide` : "";
    this.#compare();
  }

  /** The spec as decided so far; null, having said so, if an edited value is not usable. */
  #spec() {
    if (!this.merge) return null;
    const choices = new Map(this.asked.flatMap(({ question, choice }) => (choice ? [[question.key, choice]] : [])));
    try {
      return resolved(this.merge.spec, this.merge.conflicts, choices);
    } catch {
      for (const each of this.asked) if (each.question.asJson && each.choice?.how === "edit") each.say("This has to be JSON.");
      return null;
    }
  }

  #compare() {
    const spec = this.details.open ? this.#spec() : null;
    if (!spec) return;
    const from = String(this.page.ours.number);
    void this.diff.fetch(async () => call(`${this.path}/diff`, { method: "POST", body: { from, spec: await this.texts.named(spec) } }));
  }

  async #save() {
    const spec = this.#spec();
    if (this.busy || !spec || this.button.disabled) return;
    const { ours, theirs, branch, promptId } = this.page;
    const message = one("input[name=message]", this.form, HTMLInputElement).value;
    this.busy = true;
    this.#working(true);
    try {
      const body = { spec: await this.texts.named(spec), parent: ours.number, merged: theirs.number, branch, message };
      const saved = await create(`${this.path}/versions`, body, this.key);
      sayNext(saved.forked ? `Somebody saved on ${branch} first: the merge is kept as version ${saved.number} on branch ${saved.branch}.` : `Merged as version ${saved.number} on ${saved.branch}.`);
      location.assign(versionPage(promptId, saved.number));
    } catch (error) {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      const problem = one("[data-merge-error]", this.form, HTMLElement);
      problem.textContent = error instanceof ApiError ? `${error.sentence} Your choices are still on this page.` : String(error);
      problem.hidden = false;
      this.#working(false);
    }
    this.busy = false;
  }

  /* A large text may take a while. */
  #working(/** @type {boolean} */ isWorking) {
    this.button.setAttribute("aria-disabled", String(isWorking));
    one("[data-merge-left]", this.form).textContent = isWorking ? "Saving" : "";
  }

  /** @param {unknown} error */
  #refused(error) {
    if (!(error instanceof ApiError)) {
      toastError(error);
      return;
    }
    this.#say(error.sentence);
    const { ours, theirs, branch, promptId } = this.page;
    if (error.code !== "nothing_to_merge") return;
    const actions = one("[data-merge-instead]", this.root);
    const newer = Number(error.data.contains);
    actions.append(el("a", { class: "button", href: versionPage(promptId, newer) }, `Open version ${newer}`));
    if (newer !== theirs.number) this.#say(`Version ${ours.number} already contains everything of version ${theirs.number}: there is nothing to merge.`);
    if (newer !== theirs.number || !branch) return;
    this.#say(`Version ${theirs.number} already contains everything of version ${ours.number}: ${branch} only has to move forward.`);
    const forward = el("button", { class: "button button-primary", type: "button" }, `Move ${branch} to version ${newer}`);
    forward.addEventListener("click", () => void this.#forward().catch(toastError));
    actions.prepend(forward);
  }

  async #forward() {
    const { ours, theirs, branch, promptId } = this.page;
    await create(`${this.path}/branches/${encodeURIComponent(branch)}/move`, { to: theirs.number, expected: ours.number });
    sayNext(`${branch} moved from version ${ours.number} to version ${theirs.number}.`);
    location.assign(versionPage(promptId, theirs.number, { branch }));
  }
}
