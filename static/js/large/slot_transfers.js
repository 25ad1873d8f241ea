/* Large texts between the editor and the server, with a card that says how far they are and can stop them. */
import { ApiError } from "../api.js";
import { FileCard } from "./file_card.js";
import { upload } from "./uploader.js";

/**
 * @param {string} label
 * @param {string} sentence of who stopped it
 */
function stoppable(label, sentence) {
  const card = new FileCard(label);
  const stop = new AbortController();
  card.say("", [{ label: "Cancel", action: () => stop.abort(new ApiError({ message: sentence, code: "cancelled", status: 0 })) }]);
  return { card, signal: stop.signal };
}

/**
 * The whole of a saved text.
 * @param {import("./text_source.js").TextSource} source
 * @param {string} label
 * @param {(card: Element) => void} show
 * @returns {Promise<string>}
 */
export function loadWhole(source, label, show) {
  const { card, signal } = stoppable(label, "Loading was cancelled.");
  card.advance("Loading", 0);
  show(card.element);
  return source.text((done) => card.advance("Loading", done), signal);
}

/**
 * Sends a text that was edited here.
 * @param {string} text
 * @param {{label: string, near?: string, watch: (card: FileCard, bytes: number) => import("./uploader.js").OnProgress}} about near: SHA-256 of the text it was edited from
 * @param {Element} place for the card, while it goes on
 */
export async function sendEdited(text, { label, near, watch }, place) {
  const { card, signal } = stoppable(label, "Sending the text was cancelled. Nothing was saved.");
  place.replaceChildren(card.element);
  try {
    const file = new Blob([text], { type: "text/plain" });
    return await upload(file, { name: label, near, signal, onProgress: watch(card, file.size) });
  } finally {
    card.element.remove();
  }
}
