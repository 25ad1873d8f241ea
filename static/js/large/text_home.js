/* The open version as its large texts know it: where each can be read, and what is known of files just sent. */
import { isBody, isUpload, mapTexts, textsOf } from "./references.js";

class TextHome {
  constructor() {
    this.promptId = "";
    this.number = 0;
    /** @type {any[]} */
    this.texts = [];
    /** By upload id. @type {Record<string, import("./references.js").FileFacts>} */
    this.files = {};
    /** Names in the large texts of versions, by SHA-256. @type {Record<string, string[]>} */
    this.variables = {};
  }

  /**
   * @param {string} promptId
   * @param {number} number of the version that is open; 0 for none
   * @param {Record<string, any> | null} spec as it was saved
   */
  open(promptId, number, spec) {
    this.promptId = promptId;
    this.number = number;
    this.texts = spec ? textsOf(spec) : [];
  }

  /**
   * The address of a text of the open version, below /api/v1/.
   * @param {string} sha256
   * @returns {string | null}
   */
  address(sha256) {
    const index = this.texts.findIndex((text) => isBody(text) && text.body === sha256);
    return index < 0 ? null : `prompts/${this.promptId}/versions/${this.number}/texts/${index}`;
  }

  /**
   * A spec as it reads back once it is saved: uploads are bodies of the version now.
   * @template {Record<string, any>} S
   * @param {S} spec
   * @returns {S}
   */
  settled(spec) {
    return mapTexts(spec, (text) => (isUpload(text) ? this.settledText(text) : text));
  }

  /**
   * The variables that a text names which is not in the page.
   * @param {any} text
   * @returns {string[]}
   */
  variablesOf(text) {
    if (isUpload(text)) return this.files[text.upload]?.variables ?? [];
    if (isBody(text)) return this.variables[text.body] ?? [];
    return text?.of ? this.variablesOf(text.of) : [];
  }

  /** What is known of the uploads that a spec names. @param {Record<string, any>} spec */
  filesOf(spec) {
    const ids = textsOf(spec).flatMap((text) => (isUpload(text) && this.files[text.upload] ? [text.upload] : []));
    return Object.fromEntries(ids.map((id) => [id, this.files[id]]));
  }

  /** @param {any} text @returns {number} bytes of a text that is not in the page */
  bytesOf(text) {
    if (isUpload(text)) return this.files[text.upload]?.bytes ?? 0;
    if (isBody(text)) return text.bytes ?? 0;
    return text?.of ? this.bytesOf(text.of) : 0;
  }

  /** @param {any} text */
  settledText(text) {
    const file = isUpload(text) ? this.files[text.upload] : undefined;
    if (!file) return text;
    this.variables[file.sha256] = file.variables;
    return { body: file.sha256, bytes: file.bytes };
  }
}

export const home = new TextHome();
