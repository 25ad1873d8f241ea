/* The tree of versions as plain data: who is whose parent, what points where, and each version in words. */

/** @typedef {{number: number, id: string, parents: number[], lane: number, author: string | null, message: string, created_at: string}} Node */
/** @typedef {{name: string, head: number}} BranchHead */
/** @typedef {{name: string, version: number}} LabelPlace */
/** @typedef {{nodes: Node[], branches: BranchHead[], labels: LabelPlace[], drafts?: number[]}} TreeAnswer `drafts`: versions with unsaved text of mine */

const MAIN = "main";

/** @param {BranchHead} a @param {BranchHead} b */
const mainFirst = (a, b) => Number(b.name === MAIN) - Number(a.name === MAIN);

export class TreeModel {
  /** @param {TreeAnswer} answer nodes newest first */
  constructor({ nodes, branches, labels, drafts = [] }) {
    this.nodes = nodes;
    this.branches = [...branches].sort(mainFirst);
    this.labels = labels;
    this.drafts = new Set(drafts);
    /** @type {Map<number, number>} row by version number */
    this.rows = new Map(nodes.map((node, row) => [node.number, row]));
    /** @type {Map<number, number[]>} in order of their making */
    this.children = new Map();
    for (const node of [...nodes].reverse()) {
      for (const parent of node.parents) {
        const siblings = this.children.get(parent);
        if (siblings) siblings.push(node.number);
        else this.children.set(parent, [node.number]);
      }
    }
    this.lanes = nodes.reduce((most, node) => Math.max(most, node.lane + 1), 0);
  }

  /** @param {number} number */
  row(number) {
    return this.rows.get(number) ?? -1;
  }

  /** @param {number} number @returns {Node | undefined} */
  node(number) {
    return this.nodes[this.row(number)];
  }

  /** @param {number} number @returns {string[]} names of the branches that end here, main first */
  headsAt(number) {
    return this.branches.filter((branch) => branch.head === number).map((branch) => branch.name);
  }

  /** @param {number} number */
  labelsAt(number) {
    return this.labels.filter((label) => label.version === number).map((label) => label.name);
  }

  /** @param {string} name @returns {number | undefined} */
  head(name) {
    return this.branches.find((branch) => branch.name === name)?.head;
  }

  /**
   * The branch that a version is on: one that ends there, else main if it leads there, else the first that does.
   * @param {number} number
   * @returns {string} "" if none does (its branch went elsewhere)
   */
  branchOf(number) {
    const [here] = this.headsAt(number);
    if (here !== undefined) return here;
    const after = this.#descendants(number);
    return this.branches.find((branch) => after.has(branch.head))?.name ?? "";
  }

  /** Whether `to` contains `from`. @param {number} from @param {number} to */
  isAncestor(from, to) {
    return this.#descendants(from).has(to);
  }

  /** @param {number} number @returns {Set<number>} */
  #descendants(number) {
    const seen = new Set([number]);
    const open = [number];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const child of this.children.get(next) ?? []) {
        if (!seen.has(child)) open.push(child);
        seen.add(child);
      }
    }
    return seen;
  }

  /** @param {number} number @returns {number | undefined} */
  parent(number) {
    return this.node(number)?.parents[0];
  }

  /**
   * The child that goes on in the same lane, else the first one.
   * @param {number} number
   * @returns {number | undefined}
   */
  child(number) {
    const children = this.children.get(number) ?? [];
    const lane = this.node(number)?.lane;
    return children.find((child) => this.node(child)?.lane === lane) ?? children[0];
  }

  /**
   * The version `step` places along among the children of the same parent.
   * @param {number} number
   * @param {number} step
   * @returns {number | undefined}
   */
  sibling(number, step) {
    const parent = this.parent(number);
    const all = parent === undefined ? [] : (this.children.get(parent) ?? []).filter((child) => this.parent(child) === parent);
    return all[all.indexOf(number) + step];
  }

  /**
   * What the drawing and the chips say of a version, in words.
   * @param {Node} node
   */
  describe(node) {
    const heads = this.headsAt(node.number);
    const labels = this.labelsAt(node.number);
    const [parent, merged] = node.parents;
    const children = (this.children.get(node.number) ?? []).length;
    const parts = [
      heads.length > 0 && `head of ${heads.join(" and ")}`,
      labels.length > 0 && `${labels.length > 1 ? "labels" : "label"} ${labels.join(", ")}`,
      this.drafts.has(node.number) && "your unsaved text",
      this.lanes > 1 && `lane ${node.lane + 1} of ${this.lanes}`,
      merged !== undefined && `merges version ${merged} into version ${parent}`,
      merged === undefined && parent !== undefined && parent !== node.number - 1 && `from version ${parent}`,
      children > 1 && `${children} versions follow it`,
    ];
    return parts.filter(Boolean).join("; ");
  }
}
