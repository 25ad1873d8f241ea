/* What moves a branch: undo, redo, restoring an old version. A 409 says where the branch is now and offers to go on. */
import { ApiError, call, create } from "./api.js";
import { versionPage } from "./addresses.js";
import { sayNext } from "./flash.js";
import { notice } from "./notices.js";
import { toast, toastError } from "./toast.js";

/** @typedef {{number: number, branch: string, model: import("./tree_model.js").TreeModel}} Here */
/** @typedef {"undo" | "redo"} Step */

const WORDS = { undo: "went back", redo: "went forward" };

export class VersionActions {
  /**
   * @param {string} promptId
   * @param {() => Here} here
   * @param {() => Promise<unknown>} reload reads the tree anew
   */
  constructor(promptId, here, reload) {
    this.promptId = promptId;
    this.here = here;
    this.reload = reload;
    this.busy = false;
  }

  /** @param {() => Promise<void>} action */
  async #once(action) {
    if (this.busy) return;
    this.busy = true;
    await action().catch(toastError);
    this.busy = false;
  }

  /** @param {Step} step */
  move(step) {
    const { branch, model } = this.here();
    const head = model.head(branch);
    if (head === undefined) return;
    void this.#once(() => this.#move(step, branch, head));
  }

  /**
   * @param {Step} step
   * @param {string} branch
   * @param {number} expected
   */
  async #move(step, branch, expected) {
    const path = `prompts/${this.promptId}/branches/${encodeURIComponent(branch)}/${step}`;
    try {
      const { head } = await create(path, { expected });
      sayNext(`${branch} ${WORDS[step]} from version ${expected} to version ${head}. Nothing is lost.`);
      location.assign(versionPage(this.promptId, head, { branch }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      await this.reload();
      this.#explain(step, branch, error);
    }
  }

  /**
   * @param {Step} step
   * @param {string} branch
   * @param {ApiError} error
   */
  #explain(step, branch, error) {
    const head = Number(error.data.head);
    if (!head) {
      toast(error.message, { tone: "warn" });
      return;
    }
    const actions = [
      { label: `Open version ${head}`, action: () => location.assign(versionPage(this.promptId, head, { branch })) },
      { label: `${step === "undo" ? "Undo" : "Redo"} from version ${head}`, action: () => this.move(step) },
    ];
    notice(`Somebody moved ${branch}: its newest version is ${head} now. Nothing was changed.`, { tone: "warn", name: "moved", actions });
  }

  /** Saves an old version once more, as the newest of the branch. Its texts are referred to, not copied. @param {number} number */
  restore(number) {
    const { branch, model } = this.here();
    const head = model.head(branch);
    if (head === undefined) return;
    void this.#once(async () => {
      const { spec } = await call(`prompts/${this.promptId}/versions/${number}`);
      const body = { spec, parent: head, branch, message: `Restore version ${number}` };
      const saved = await create(`prompts/${this.promptId}/versions`, body);
      const where = saved.forked ? `Somebody saved first: version ${number} is back as version ${saved.number} on branch ${saved.branch}.` : `Version ${number} is back as version ${saved.number}.`;
      sayNext(where);
      location.assign(versionPage(this.promptId, saved.number));
    });
  }
}
