/* Files and very long texts that come by drop or paste, taken before the editor sees them. */

/**
 * @param {HTMLElement} element
 * @param {{onFile: (file: File) => void, onText: (text: string) => boolean}} take onText: whether it took a pasted text
 */
export function bindDropping(element, { onFile, onText }) {
  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  element.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    element.dataset.dropping = "";
  });
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(/** @type {Node | null} */ (event.relatedTarget))) delete element.dataset.dropping;
  });
  element.addEventListener(
    "drop",
    (event) => {
      delete element.dataset.dropping;
      const file = event.dataTransfer?.files[0];
      if (!file) return;
      event.preventDefault();
      event.stopPropagation();
      onFile(file);
    },
    true,
  );
  element.addEventListener(
    "paste",
    (event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const file = text ? undefined : event.clipboardData?.files[0];
      if (file) onFile(file);
      else if (!text || !onText(text)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    true,
  );
}

/**
 * Asks for a file.
 * @param {(file: File) => void} onFile
 */
export function pickFile(onFile) {
  const field = document.createElement("input");
  field.type = "file";
  field.addEventListener("change", () => field.files?.[0] && onFile(field.files[0]));
  field.click();
}
