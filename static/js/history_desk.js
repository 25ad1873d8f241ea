/* All that has to do with the tree on the workbench: the drawing, the branch in the top bar, what moves them. */
import { columnsPage, comparePage, mergePage, versionPage } from "./addresses.js";
import { BranchForm } from "./branch_form.js";
import { BranchMenu } from "./branch_menu.js";
import { one } from "./dom.js";
import { sayNext } from "./flash.js";
import { bindKey, keyNames } from "./keys.js";
import { LabelDialog } from "./label_dialog.js";
import { dropNotice, notice } from "./notices.js";
import { may } from "./sharing/permissions.js";
import { relative } from "./time.js";
import { toast } from "./toast.js";
import { bindTreeKeys } from "./tree_keys.js";
import { TreeTools } from "./tree_tools.js";
import { VersionActions } from "./version_actions.js";

const MAIN = "main";
const KEYS = { undo: "alt+z", redo: "alt+y" };

export class HistoryDesk {
  /**
   * @param {HTMLElement} root
   * @param {import("./tree_pane.js").TreePane} pane
   * @param {boolean} canChange
   */
  constructor(root, pane, canChange) {
    this.pane = pane;
    this.promptId = pane.promptId;
    const { promptId } = pane;
    this.canChange = canChange;
    this.number = pane.current;
    /** The branch that a save goes to. */
    this.branch = MAIN;
    /** Whether the open version was the newest of its branch when it was opened. */
    this.wasHead = false;
    /** The newest version that the reader of an older one was told of. */
    this.told = 0;
    const reload = () => this.pane.load(this.number);
    this.actions = new VersionActions(promptId, () => this, reload);
    this.labels = new LabelDialog(promptId, () => this.model.labels, reload);
    this.branchForm = new BranchForm(promptId, (branch) => void this.#started(branch));
    this.menu = new BranchMenu(promptId, canChange ? () => this.branchForm.open(this.number) : null);
    this.tools = new TreeTools(one("[data-tree-tools]", root, HTMLElement), (name) => this.#use(name));
    pane.serve({
      onOpen: (number, event) => this.#open(number, event),
      onLabel: (number) => canChange && this.labels.open(number),
      onLoad: () => this.#paint(),
      onActive: () => this.tools.paint(this.pane.view, this.branch, this.canChange),
    });
    this.#bind();
  }

  #bind() {
    bindTreeKeys(this.pane.view, {
      open: (number) => this.#open(number),
      compare: () => this.#use("compare"),
      columns: () => may("run") && this.#use("columns"),
      branch: (number) => this.canChange && this.branchForm.open(number),
      label: (number) => this.canChange && this.labels.open(number),
    });
    if (!this.canChange) return;
    for (const step of /** @type {const} */ (["undo", "redo"])) {
      one(`[data-${step}]`).addEventListener("click", () => this.actions.move(step));
      bindKey(KEYS[step], step === "undo" ? "Undo: the branch one version back" : "Redo: the branch one version forward", () => this.actions.move(step));
    }
  }

  get model() {
    return this.pane.model;
  }

  /**
   * Takes up the version that the page was opened with, once the whole tree is there.
   * @param {string} branch the one that is meant, where several end here
   */
  async open(branch) {
    await this.pane.latest;
    this.#settle(branch);
  }

  /** Reads the tree anew for a version that was just saved. @param {number} number */
  async load(number) {
    this.number = number;
    await this.pane.load(number);
    this.#settle("");
  }

  /** @param {string} branch */
  #settle(branch) {
    const { number } = this;
    const heads = this.model.headsAt(number);
    this.branch = heads.includes(branch) ? branch : this.model.branchOf(number) || MAIN;
    this.wasHead = heads.length > 0;
    this.#paint();
  }

  #paint() {
    if (this.model.head(this.branch) === undefined) this.branch = this.model.branchOf(this.number) || MAIN;
    this.menu.show(this.branch, this.number, this.model);
    this.tools.paint(this.pane.view, this.branch, this.canChange);
    this.#paintSteps();
    this.#tellOlder();
  }

  #paintSteps() {
    const head = this.model.head(this.branch) ?? 0;
    const parent = this.model.parent(head);
    const follows = this.model.children.get(head) ?? [];
    const words = {
      undo: parent === undefined ? "Undo: this is the first version" : `Undo: ${this.branch} back from version ${head} to ${parent}`,
      redo: follows.length === 0 ? "Redo: nothing was undone" : `Redo: ${this.branch} forward from version ${head}`,
    };
    for (const step of /** @type {const} */ (["undo", "redo"])) {
      const button = one(`[data-${step}]`, document, HTMLButtonElement);
      button.hidden = !this.canChange;
      button.disabled = step === "undo" ? parent === undefined : follows.length === 0;
      button.setAttribute("aria-label", words[step]);
      button.title = `${words[step]} (${keyNames(KEYS[step]).join("+")})`;
    }
  }

  /* Whoever looks at an older version is told so, with the way to the newest and the way to restore this one. */
  #tellOlder() {
    const head = this.model.head(this.branch);
    const { number } = this;
    if (!number || head === undefined || head === number) {
      dropNotice("older");
      this.told = 0;
      return;
    }
    if (this.told === head) return;
    this.told = head;
    const newest = this.model.node(head);
    const by = newest ? ` (${newest.author ?? "someone"}, ${relative(new Date(newest.at * 1000))})` : "";
    const actions = [
      { label: `Open v${head}`, action: () => this.#open(head) },
      { label: "Compare", action: () => location.assign(comparePage(this.promptId, number, head)) },
      ...(this.canChange ? [{ label: `Restore v${number}`, action: () => this.actions.restore(number) }] : []),
    ];
    notice(`This is not the newest on ${this.branch}: version ${head} is${by}.`, { name: "older", actions });
  }

  /** @param {number} number @param {MouseEvent} [event] */
  #open(number, event) {
    const heads = this.model.headsAt(number);
    const branch = heads.length > 1 && heads.includes(this.branch) ? this.branch : "";
    const address = versionPage(this.promptId, number, { branch });
    if (event && (event.ctrlKey || event.metaKey || event.button === 1)) window.open(address, "_blank", "noopener");
    else if (number !== this.number) location.assign(address);
  }

  /** @param {import("./tree_tools.js").ToolName} name */
  #use(name) {
    const { active, pair } = this.pane.view;
    if (name === "compare" && pair) location.assign(comparePage(this.promptId, ...pair));
    if (name === "columns") location.assign(columnsPage(this.promptId, { versions: pair ?? [active] }));
    if (name === "branch") this.branchForm.open(active);
    if (name === "label") this.labels.open(active);
    if (name === "merge") location.assign(mergePage(this.promptId, this.branch, this.model.headsAt(active)[0] ?? active));
    if (name === "restore") this.actions.restore(active);
  }

  /** @param {{name: string, head: number}} branch just made */
  async #started({ name, head }) {
    const said = `Branch ${name} starts at version ${head}. What you save now goes there.`;
    if (head !== this.number) {
      sayNext(said);
      location.assign(versionPage(this.promptId, head, { branch: name }));
      return;
    }
    this.branch = name;
    this.wasHead = true;
    history.replaceState(null, "", versionPage(this.promptId, head, { branch: name }));
    await this.pane.load(this.number);
    toast(said);
  }

  /**
   * A save that found its branch elsewhere is kept beside it: says so, and offers to merge.
   * @param {{branch: string, wasHead: boolean}} before the branch that was asked for
   * @param {{number: number, branch: string}} saved
   */
  tellForked(before, saved) {
    const head = this.model.head(before.branch);
    const reason = before.wasHead ? `Somebody saved version ${head} first` : `${before.branch} is already at version ${head}`;
    const text = `${reason}; yours is kept as version ${saved.number} on branch ${saved.branch}.`;
    const actions = [
      { label: `Merge into ${before.branch}`, action: () => location.assign(mergePage(this.promptId, before.branch, saved.branch)) },
      { label: `Open version ${head}`, action: () => location.assign(versionPage(this.promptId, head ?? 0)) },
    ];
    notice(text, { tone: "warn", name: "forked", actions: head ? actions : [] });
  }
}
