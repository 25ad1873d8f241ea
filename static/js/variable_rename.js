/* Renaming a variable in every text of the editor. */
import { mapTexts } from "./large/references.js";
import { namePlaces } from "./template.js";

/** @typedef {{from: number, to: number, insert: string}} Edit positions in the text before any of the edits */

/**
 * @param {string} text
 * @param {string} from NFC
 * @param {string} to
 * @returns {Edit[]}
 */
export function renameEdits(text, from, to) {
  return namePlaces(text, from).map((place) => ({ ...place, insert: to }));
}

/**
 * The content of a message that has no editor yet, with a variable renamed in all its texts.
 * @template C
 * @param {C} content
 * @param {string} from
 * @param {string} to
 * @returns {{content: C, places: number, texts: number}}
 */
export function renamedContent(content, from, to) {
  let places = 0;
  let texts = 0;
  const renamed = mapTexts({ messages: [{ content }] }, (text) => {
    const edits = typeof text === "string" ? renameEdits(text, from, to) : [];
    places += edits.length;
    texts += Math.sign(edits.length);
    return edits.reduceRight((done, edit) => done.slice(0, edit.from) + edit.insert + done.slice(edit.to), text);
  });
  return { content: renamed.messages[0].content, places, texts };
}

/** @typedef {{label: string, slot: import("./large/text_slot.js").TextSlot}} Field a text of the editor */

/**
 * Renames in each text that is in the page, as one step of its undo.
 * @param {Field[]} fields
 * @param {string} from
 * @param {string} to
 * @returns {{places: number, texts: number}}
 */
export function renameInTexts(fields, from, to) {
  let places = 0;
  let texts = 0;
  for (const { slot } of fields) {
    if (slot.held) continue;
    const edits = renameEdits(slot.editor.shown, from, to);
    if (edits.length === 0) continue;
    slot.editor.edit(edits);
    places += edits.length;
    texts += 1;
  }
  return { places, texts };
}
