/* Merged texts that are too large for a request go past it: each is sent to the store once and named in the spec. */
import { mapTexts, textsOf } from "./large/references.js";
import { LARGE } from "./large/sizes.js";
import { home } from "./large/text_home.js";
import { upload } from "./large/uploader.js";

export class MergeTexts {
  /** @param {string} promptId */
  constructor(promptId) {
    home.open(promptId, 0, null);
    /** By text, so that comparing and saving send it once. @type {Map<string, Promise<{upload: string}>>} */
    this.sent = new Map();
  }

  /** @param {string} text */
  #send(text) {
    const known = this.sent.get(text);
    if (known) return known;
    const options = { name: "The merged text", onProgress: () => {}, signal: new AbortController().signal };
    const sending = upload(new Blob([text]), options);
    this.sent.set(text, sending);
    // A failure is not kept: the next attempt begins anew.
    sending.catch(() => this.sent.delete(text));
    return sending;
  }

  /**
   * @param {import("./spec.js").Spec} spec
   * @returns {Promise<import("./spec.js").Spec>} with large texts named
   */
  async named(spec) {
    const large = [...new Set(textsOf(spec).filter((text) => typeof text === "string" && text.length > LARGE))];
    const names = new Map(await Promise.all(large.map(async (text) => /** @type {const} */ ([text, await this.#send(text)]))));
    return mapTexts(spec, (text) => names.get(text) ?? text);
  }
}
