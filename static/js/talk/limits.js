/* How much one types here: more makes the page slow, and belongs into a message of the prompt, which takes files. */

const MOST = 200_000;

/**
 * Keeps a text area from being filled with more than it can take, and says so. Nothing is cut: what would be too much is
 * not put in at all.
 * @param {InputEvent} event of kind beforeinput
 * @param {HTMLTextAreaElement} field
 * @param {(words: string) => void} say
 */
export function tooLong(event, field, say) {
  const more = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
  const length = field.value.length - (field.selectionEnd - field.selectionStart) + more.length;
  if (more === "" || event.isComposing || length <= MOST) return;
  event.preventDefault();
  say(`This has at most ${MOST.toLocaleString()} characters, and with that it would have ${length.toLocaleString()}. Longer texts go into a message of the prompt, which takes files.`);
}
