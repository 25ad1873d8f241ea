/* Folders that were closed stay closed, in this browser. */

const STORE = "closed-folders";

/** @returns {Set<string>} */
function closed() {
  try {
    return new Set(JSON.parse(localStorage.getItem(STORE) ?? "[]"));
  } catch {
    return new Set();
  }
}

/** @param {HTMLElement} button @param {boolean} open */
function show(button, open) {
  button.setAttribute("aria-expanded", String(open));
  const inside = button.closest("li")?.querySelector("ul");
  if (inside) inside.hidden = !open;
}

export function bindFolders() {
  const known = closed();
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-folder].folder-toggle"))) {
    const path = button.dataset.folder ?? "";
    if (known.has(path)) show(button, false);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      show(button, open);
      if (open) known.delete(path);
      else known.add(path);
      try {
        localStorage.setItem(STORE, JSON.stringify([...known]));
      } catch {
        // They are open again next time.
      }
    });
  }
}

/** @param {(path: string) => void} edit */
export function bindFolderEditing(edit) {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-folder-edit]"))) {
    button.addEventListener("click", () => edit(button.dataset.folderEdit ?? ""));
  }
}

/** Paths of all folders, for the field that asks for one. @returns {string[]} */
export function knownFolders() {
  return [...document.querySelectorAll(".folder-link[title]")].map((link) => link.getAttribute("title") ?? "");
}
