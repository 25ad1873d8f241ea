/* What is to be imported: a text in the editor, or a file that is no text or too long for one. */
import { one } from "../dom.js";
import { bindDropping, pickFile } from "../large/dropping.js";
import { FileCard } from "../large/file_card.js";
import { LARGE, sizeWords } from "../large/sizes.js";
import { TextEditor } from "../text_editor.js";

/** @typedef {{text?: string, file?: Blob, name: string}} Given a text, or a file: zip, or an export as JSON */

const MOST_TEXT = 8_000_000;
const FORMAT = '"prompt-playground-export"';

/** @param {Blob} file */
async function isZip(file) {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return start[0] === 0x50 && start[1] === 0x4b;
}

export class ImportSource {
  /**
   * @param {HTMLElement} root
   * @param {(given: Given | null) => void} onGiven
   * @param {(problem: string) => void} onProblem
   */
  constructor(root, onGiven, onProblem) {
    this.onGiven = onGiven;
    this.onProblem = onProblem;
    this.box = one("[data-import-text]", root, HTMLElement);
    this.card = one("[data-import-card]", root, HTMLElement);
    this.editor = new TextEditor(this.box, { label: "Text to import", placeholder: "Paste here, or drop a file", onChange: () => this.#typed() });
    bindDropping(one(".import-source", root, HTMLElement), {
      onFile: (file) => void this.#take(file, file.name),
      onText: (text) => this.#pasted(text),
    });
    one("[data-import-file]", root).addEventListener("click", () => pickFile((file) => void this.#take(file, file.name)));
    this.editor.focus();
  }

  #typed() {
    const text = this.editor.read();
    this.onGiven(text.trim() ? { text, name: "" } : null);
  }

  /** @param {string} text */
  #pasted(text) {
    if (text.length <= LARGE) return false;
    void this.#take(new Blob([text]), "Pasted text");
    return true;
  }

  /** @param {Blob} file @param {string} name */
  async #take(file, name) {
    if (await isZip(file)) {
      this.#showCard(name, file.size, "zip");
      this.onGiven({ file: new Blob([file], { type: "application/zip" }), name });
      return;
    }
    const start = await file.slice(0, LARGE).text();
    if (start.includes(FORMAT)) {
      this.#showCard(name, file.size, "JSON");
      this.onGiven({ file: new Blob([file], { type: "application/json" }), name });
      return;
    }
    if (file.size > MOST_TEXT) {
      this.onProblem(`${name} has ${sizeWords(file.size)}; a text to import may have ${sizeWords(MOST_TEXT)}.`);
      return;
    }
    await this.#takeText(file, name);
  }

  /** @param {Blob} file @param {string} name */
  async #takeText(file, name) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      if (text.length <= LARGE) {
        this.#showEditor();
        this.editor.replace(text);
        return;
      }
      this.#showCard(name, file.size, "text");
      this.onGiven({ text, name });
    } catch {
      this.onProblem(`${name} is neither a zip file nor UTF-8 text.`);
    }
  }

  #showEditor() {
    this.box.hidden = false;
    this.card.replaceChildren();
  }

  /** @param {string} name @param {number} bytes @param {string} kind */
  #showCard(name, bytes, kind) {
    const card = new FileCard(name);
    const remove = () => {
      this.#showEditor();
      this.#typed();
    };
    card.say(`${sizeWords(bytes)} · ${kind}`, [{ label: "Remove", action: remove }]);
    this.box.hidden = true;
    this.card.replaceChildren(card.element);
  }
}
