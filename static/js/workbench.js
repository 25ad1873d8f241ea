/* One prompt open for writing: its text, what is saved of it, and the run beside it. */
import { sendPage, versionPage } from "./addresses.js";
import { ApiError, create, newKey } from "./api.js";
import { CodeDialog } from "./code_dialog.js";
import { afterQuiet, one } from "./dom.js";
import { DraftKeeper } from "./draft_keeper.js";
import { doubts } from "./editor/estimate_words.js";
import { askToRun } from "./editor/run_question.js";
import { HistoryDesk } from "./history_desk.js";
import { home } from "./large/text_home.js";
import { NoDrafts } from "./no_drafts.js";
import { Output } from "./output.js";
import { showPane } from "./panes.js";
import { PastValuesMenu } from "./past_values.js";
import { queuedRun } from "./run_stream.js";
import { SaveForm } from "./save_form.js";
import { newSpec, sameSpec } from "./spec.js";
import { SpecForm } from "./spec_form.js";
import { clearToasts, toast, toastError } from "./toast.js";
import { ValueKeeper } from "./value_keeper.js";

/** @typedef {import("./spec.js").Spec} Spec */
/** @typedef {import("./large/text_slot.js").Watch} Watch */
/** @typedef {{prompt: {id: string, name: string}, version: {id: string, number: number} | null, spec: Spec | null, canChange: boolean, branch?: string}} Page */

const QUIET_MS = 120;
/** How long a run waits to learn how large it is. */
const PATIENCE_MS = 400;

export class Workbench {
  /**
   * @param {HTMLElement} root
   * @param {Page} page
   * @param {import("./tree_pane.js").TreePane} pane
   */
  constructor(root, page, pane) {
    this.root = root;
    this.promptId = page.prompt.id;
    this.version = page.version;
    /** What the open version holds; null before the first. @type {Spec | null} */
    this.saved = page.spec;
    this.isDirty = false;
    this.busy = false;
    this.form = new SpecForm(root, afterQuiet(() => this.#changed(), QUIET_MS));
    const place = { branch: page.branch ?? "", number: page.version?.number ?? 0 };
    this.values = new ValueKeeper(this.promptId, { settle: () => this.#changed() });
    this.pastValues = new PastValuesMenu(this.promptId, root, (values) => this.form.variables.fill(values));
    /** Over once the values of the person are in their places. @type {Promise<void>} */
    this.filled = Promise.resolve();
    this.drafts = page.canChange ? this.#keeper(place) : new NoDrafts();
    this.desk = new HistoryDesk(one("[data-history]", root, HTMLElement), pane, page.canChange);
    this.output = new Output(one("[data-output]", root, HTMLElement), () => this.#paintRun());
    const editor = { current: () => this.form.refresh(), send: (/** @type {Watch} */ watch) => this.form.send(watch) };
    this.saveForm = new SaveForm(page.prompt.id, editor, (message) => this.save(message), (error) => this.#placeError(error));
    this.code = new CodeDialog();
    /** Called when another version is open. */
    this.onVersion = () => {};
    // One key for one wish to save or run, so that trying again after a cut connection makes nothing twice.
    this.saveKey = newKey();
    this.runKey = newKey();
  }

  /** @param {{branch: string, number: number}} place */
  #keeper(place) {
    return new DraftKeeper(this.promptId, place, {
      current: () => this.#draft(),
      settle: () => this.#changed(),
      load: (draft) => this.#loadDraft(draft),
      isUnsent: () => this.form.isUnsent,
      send: () => this.form.send(),
    });
  }

  async start() {
    home.open(this.promptId, this.version?.number ?? 0, this.saved);
    this.form.load(this.saved ?? newSpec(""), {});
    const draft = this.drafts.offer();
    if (draft) this.#loadDraft(draft);
    this.#changed();
    void this.drafts.meet();
    this.filled = this.#fillIn();
    const models = this.form.fetchModels();
    const asked = new URLSearchParams(location.search);
    const run = asked.get("run");
    if (run) await this.#openRun(run);
    await Promise.all([models, this.desk.open(asked.get("branch") ?? "")]);
    this.#changed();
  }

  async #fillIn() {
    this.form.variables.panel.fillUnset(await this.values.meet());
    this.#changed();
  }

  /** @param {string} id */
  async #openRun(id) {
    showPane(this.root, "output");
    await this.output.open(id, this.version?.number).catch(toastError);
  }

  #changed() {
    const spec = this.form.refresh();
    this.isDirty = !sameSpec(spec, this.saved) && !(this.saved === null && this.form.isUntouched);
    this.#paintSaved();
    this.drafts.note(this.isDirty);
    this.values.note(this.form.variableNames, this.form.values);
  }

  #draft() {
    const spec = this.isDirty ? this.form.read() : null;
    return { base: this.version?.number ?? 0, spec, values: {}, files: spec ? home.filesOf(spec) : {} };
  }

  /** @param {import("./drafts.js").Draft} draft */
  #loadDraft(draft) {
    Object.assign(home.files, draft.files);
    this.form.load(draft.spec ?? this.saved ?? newSpec(""), draft.values);
  }

  #paintSaved() {
    const state = one("[data-save-state]", document, HTMLElement);
    const words = this.isDirty ? "Unsaved" : this.version ? "Saved" : "Not saved yet";
    state.dataset.state = this.isDirty ? "dirty" : "clean";
    if (state.textContent !== words) state.textContent = words;
    one("[data-version-chip]").textContent = this.version ? `v${this.version.number}` : "new";
    const send = one("[data-send-version]", document, HTMLAnchorElement);
    send.hidden = !this.version;
    if (this.version) send.href = sendPage("version", this.version.id);
  }

  #paintRun() {
    const button = one("[data-run]", document, HTMLButtonElement);
    button.setAttribute("aria-disabled", String(this.output.isRunning || this.busy));
  }

  openSave() {
    if (document.querySelector("dialog[open]")) return;
    this.saveForm.open(this.version?.number ?? 0, this.saved, this.form.refresh());
  }

  /**
   * Saves what the editor holds as a version. Rejects with the server's reason.
   * @param {string} message
   */
  async save(message) {
    clearToasts();
    await this.form.send();
    const spec = this.form.refresh();
    const body = { spec, parent: this.version?.number ?? null, branch: this.desk.branch, message };
    const answer = await create(`prompts/${this.promptId}/versions`, body, this.saveKey).catch((error) => {
      if (error instanceof ApiError && error.status > 0) this.saveKey = newKey();
      throw error;
    });
    this.saveKey = newKey();
    this.#saved(spec, answer);
    return answer;
  }

  /**
   * @param {Spec} spec
   * @param {{id: string, number: number, branch: string, forked: boolean}} answer
   */
  #saved(spec, answer) {
    const before = { branch: this.desk.branch, wasHead: this.desk.wasHead };
    this.version = { id: answer.id, number: answer.number };
    this.saved = home.settled(spec);
    home.open(this.promptId, answer.number, this.saved);
    this.form.settle();
    this.onVersion();
    history.replaceState(null, "", versionPage(this.promptId, answer.number));
    void this.drafts.saved({ branch: answer.branch, number: answer.number });
    this.#changed();
    if (!answer.forked) toast(`Saved as version ${answer.number}`);
    void this.desk.load(answer.number).then(() => answer.forked && this.desk.tellForked(before, answer));
  }

  /**
   * Shows an error at the field or block it is about.
   * @param {unknown} error
   * @returns {boolean} whether there is such a place
   */
  #placeError(error) {
    if (!(error instanceof ApiError) || !this.form.showError(error)) return false;
    showPane(this.root, "editor");
    toast("Nothing was saved. What is wrong is marked in the editor.", { tone: "bad" });
    return true;
  }

  /** Runs the version; what is not saved is saved first, and that is said. */
  async run() {
    if (this.busy || this.output.isRunning) return;
    this.busy = true;
    clearToasts();
    await this.filled;
    if (this.#hasValues() && (await this.#mayRun())) {
      await this.#runNow().catch((error) => {
        if (!this.#placeError(error)) toastError(error);
      });
    }
    this.busy = false;
    this.#paintRun();
  }

  /* Whether each variable has a value that can be sent; if not, says which has none and goes there. */
  #hasValues() {
    this.form.refresh();
    const { unset } = this.form;
    const [problem] = this.form.variableProblems;
    if (unset.size === 0 && !problem) return true;
    if (unset.size > 0) toast(`Give a value to ${[...unset].join(", ")} first, or send it as empty text.`, { tone: "warn" });
    else toast(`The value of ${problem.name} cannot be sent. ${problem.words}`, { tone: "warn" });
    showPane(this.root, "editor");
    if (unset.size > 0) this.form.focusUnset();
    else this.form.variables.panel.focus(problem.name);
    return false;
  }

  /* Whether nothing is known against it, or the person wants it all the same. */
  async #mayRun() {
    const { blankPrefill } = this.form.blocks;
    if (blankPrefill) {
      toast("The last message begins the answer and ends in a blank, which the Messages API refuses. Remove the blank, then run.", { tone: "warn" });
      showPane(this.root, "editor");
      blankPrefill.focus();
      return false;
    }
    return askToRun(doubts(await this.form.estimate.settled(PATIENCE_MS)));
  }

  #asked() {
    return { variables: this.form.values, provider: this.form.parameters.model.provider || null };
  }

  async #runNow() {
    this.#changed();
    if (this.isDirty || !this.version) await this.save("");
    const number = this.version?.number;
    const answer = await create(`prompts/${this.promptId}/versions/${number}/runs`, this.#asked(), this.runKey).catch((error) => {
      if (error instanceof ApiError && error.status > 0) this.runKey = newKey();
      throw error;
    });
    this.runKey = newKey();
    history.replaceState(null, "", versionPage(this.promptId, number ?? 0, { run: answer.id }));
    showPane(this.root, "output");
    this.output.follow(queuedRun(answer.id, this.saved?.model, number));
  }

  async getCode() {
    this.#changed();
    if (!this.version) {
      toast("Save a version first: code is made from what is saved.", { tone: "warn" });
      return;
    }
    this.code.open({ promptId: this.promptId, number: this.version.number, isDirty: this.isDirty, values: this.form.values });
  }
}
