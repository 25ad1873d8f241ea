/* The draft of one branch on the server: read, kept with the revision this page knows, removed. */
import { ApiError, call } from "./api.js";

/** Browsers send no more than this after the page is gone. */
const KEEPALIVE_BYTES = 60_000;

/** @typedef {{branch: string, base: number | null, revision: number, updated_at: string}} DraftRow */

export class ServerDraft {
  /**
   * @param {string} promptId
   * @param {string} branch
   */
  constructor(promptId, branch) {
    this.promptId = promptId;
    this.branch = branch;
    /** @type {number | null} */
    this.revision = null;
  }

  /** @param {string} [branch] */
  #path(branch = this.branch) {
    return `prompts/${this.promptId}/drafts/${encodeURIComponent(branch)}`;
  }

  /** All of mine of this prompt. @returns {Promise<DraftRow[]>} */
  async list() {
    return (await call(`prompts/${this.promptId}/drafts`)).results;
  }

  /** @returns {Promise<import("./drafts.js").Draft & {revision: number}>} */
  async read() {
    const row = await call(this.#path());
    const content = JSON.parse(row.content);
    return { values: {}, files: {}, spec: null, tab: "", ...content, base: row.base ?? 0, keptAt: row.updated_at, revision: row.revision };
  }

  /**
   * @param {string} content
   * @param {number} base
   * @param {{leaving?: boolean}} [options]
   */
  async keep(content, base, { leaving = false } = {}) {
    const body = { content, base: base || null, revision: this.revision };
    const keepalive = leaving && content.length * 3 < KEEPALIVE_BYTES;
    const { revision } = await call(this.#path(), { method: "PUT", body, keepalive });
    this.revision = revision;
  }

  /** @param {string} [branch] */
  async drop(branch = this.branch) {
    if (branch === this.branch) this.revision = null;
    await call(this.#path(branch), { method: "DELETE", keepalive: true });
  }
}

/**
 * @param {unknown} error
 * @returns {boolean} whether another tab wrote meanwhile
 */
export function isStale(error) {
  return error instanceof ApiError && error.status === 409 && error.code === "draft_changed";
}
