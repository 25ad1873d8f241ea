/*
 * The tree of versions as plain data: who is whose parent, what points where, and each version in words. It is kept in
 * the columns that the server answers, and may hold only the rows around the open version until the rest is there.
 */

/** @typedef {{number: number, parents: number[], lane: number, author: string | null, message: string, at: number}} Node `at` in seconds since 1970 */
/** @typedef {{name: string, head: number}} BranchHead */
/** @typedef {{name: string, version: number}} LabelPlace */
/** @typedef {{count: number, first: number, lanes: number, numbers: number[], parents: number[], merged: number[], lane_of: number[], people: (string | null)[], authors: number[], times: number[], messages: string[]}} Columns newest first; row `first` of `count` is the first one here; 0 is nobody's number */
/** @typedef {Columns & {branches: BranchHead[], labels: LabelPlace[], lines?: [number, number, number, number, boolean][], drafts?: number[]}} TreeAnswer `drafts`: versions with unsaved text of mine; `lines`: rows and lanes of child and parent, and whether it merges; given where not all rows are here */

const MAIN = "main";

/** @type {TreeAnswer} */
export const NO_TREE = { count: 0, first: 0, lanes: 0, numbers: [], parents: [], merged: [], lane_of: [], people: [], authors: [], times: [], messages: [], branches: [], labels: [] };

/** @param {BranchHead} a @param {BranchHead} b */
const mainFirst = (a, b) => Number(b.name === MAIN) - Number(a.name === MAIN);

/** @param {[number, string][]} pairs @returns {Map<number, string[]>} */
function byNumber(pairs) {
  const names = new Map();
  for (const [number, name] of pairs) names.set(number, [...(names.get(number) ?? []), name]);
  return names;
}

export class TreeModel {
  /** @type {Map<number, number[]> | null} */
  #children = null;
  /** The last answer: it is asked for again at every step of a walk. */
  #ancestors = { number: 0, of: new Set([0]) };

  /** @param {TreeAnswer} answer */
  constructor(answer) {
    this.columns = answer;
    this.count = answer.count;
    this.lanes = answer.lanes;
    this.branches = [...answer.branches].sort(mainFirst);
    this.labels = answer.labels;
    this.lines = answer.lines;
    this.drafts = new Set(answer.drafts);
    /** @type {Map<number, number>} row by version number */
    this.rows = new Map(answer.numbers.map((number, index) => [number, answer.first + index]));
    this.heads = byNumber(this.branches.map(({ name, head }) => [head, name]));
    this.labelled = byNumber(this.labels.map(({ name, version }) => [version, name]));
  }

  /** Whether every version is here. */
  get isWhole() {
    return this.columns.numbers.length === this.count;
  }

  /** @param {number} number @returns {number} -1 for one that is not here */
  row(number) {
    return this.rows.get(number) ?? -1;
  }

  /** @param {number} row @returns {Node | undefined} */
  at(row) {
    const { first, numbers, parents, merged, lane_of, people, authors, times, messages } = this.columns;
    const index = row - first;
    if (numbers[index] === undefined) return undefined;
    return {
      number: numbers[index],
      parents: [parents[index], merged[index]].filter(Boolean),
      lane: lane_of[index],
      author: people[authors[index]],
      message: messages[index],
      at: times[index],
    };
  }

  /** @param {number} number @returns {Node | undefined} */
  node(number) {
    return this.at(this.row(number));
  }

  /** Children in order of their making, by the number of the parent. Made when first asked for. */
  get children() {
    if (this.#children) return this.#children;
    const { numbers, parents, merged } = this.columns;
    /** @type {Map<number, number[]>} */
    const children = new Map();
    for (let index = numbers.length - 1; index >= 0; index -= 1) {
      for (const parent of merged[index] ? [parents[index], merged[index]] : [parents[index]]) {
        const siblings = children.get(parent);
        if (siblings) siblings.push(numbers[index]);
        else children.set(parent, [numbers[index]]);
      }
    }
    children.delete(0);
    this.#children = children;
    return children;
  }

  /** @param {number} number @returns {string[]} names of the branches that end here, main first */
  headsAt(number) {
    return this.heads.get(number) ?? [];
  }

  /** @param {number} number */
  labelsAt(number) {
    return this.labelled.get(number) ?? [];
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
    return this.ancestors(to).has(from);
  }

  /** What a version contains: itself, its parents, and theirs. @param {number} number @returns {Set<number>} */
  ancestors(number) {
    if (this.#ancestors.number !== number) this.#ancestors = { number, of: reached(number, (each) => this.#parents(each)) };
    return this.#ancestors.of;
  }

  /** @param {number} number @returns {Set<number>} */
  #descendants(number) {
    return reached(number, (each) => this.children.get(each) ?? []);
  }

  /** @param {number} number @returns {number[]} */
  #parents(number) {
    const { first, parents, merged } = this.columns;
    const index = this.row(number) - first;
    return [parents[index], merged[index]].filter(Boolean);
  }

  /** @param {number} number @returns {number | undefined} */
  parent(number) {
    return this.#parents(number)[0];
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

/**
 * @param {number} start
 * @param {(number: number) => number[]} next
 * @returns {Set<number>} `start`, and all that can be reached from it
 */
function reached(start, next) {
  const seen = new Set([start]);
  const open = [start];
  for (let number = open.pop(); number !== undefined; number = open.pop()) {
    for (const each of next(number)) {
      if (!seen.has(each)) open.push(each);
      seen.add(each);
    }
  }
  return seen;
}
