/*
 * Keys of the page. `bindKey("mod+s", "Save a version", action)`: mod is Cmd on a Mac and Ctrl elsewhere. Nothing fires
 * while an input method is composing, nor, for single letters, while somebody is writing. `?` lists them.
 */
import { el, one } from "./dom.js";
import { openDialog } from "./dialog.js";

/** @typedef {{combination: string, label: string, action: (event: KeyboardEvent) => void}} Binding */

/** @type {Binding[]} */
const bindings = [];
/** @type {Pick<Binding, "combination" | "label">[]} */
const notes = [];
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const NAMES = /** @type {Record<string, string>} */ ({ mod: isMac ? "⌘" : "Ctrl", enter: "Enter", tab: "Tab", escape: "Esc", delete: "Del", shift: isMac ? "⇧" : "Shift", alt: isMac ? "⌥" : "Alt", slash: "/", arrowup: "↑", arrowdown: "↓", arrowleft: "←", arrowright: "→" });

/**
 * @param {string} combination
 * @param {string} label
 * @param {(event: KeyboardEvent) => void} action
 */
export function bindKey(combination, label, action) {
  bindings.push({ combination, label, action });
}

/**
 * Lists a key that something on the page hears itself: a grid, an editor.
 * @param {string} combination
 * @param {string} label
 */
export function noteKey(combination, label) {
  notes.push({ combination, label });
}

/** What this page has keys for, as it is named to people. */
export function pageBindings() {
  return bindings.filter(({ label }) => label);
}

/**
 * @param {string} combination
 * @returns {string[]} as printed on the keys
 */
export function keyNames(combination) {
  return combination.split("+").map((part) => NAMES[part] ?? part.toUpperCase());
}

/** @param {KeyboardEvent} event */
function combinationOf(event) {
  // With Option, a Mac types another character than the one on the key.
  const key = event.altKey && /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key.toLowerCase();
  const parts = [];
  if (isMac ? event.metaKey : event.ctrlKey) parts.push("mod");
  if (event.altKey) parts.push("alt");
  if (event.shiftKey && key.length > 1) parts.push("shift");
  parts.push(key === "/" ? "slash" : key);
  return parts.join("+");
}

/** @param {EventTarget | null} target */
function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio]), textarea, select"));
}

/** @param {KeyboardEvent} event */
function onKeyDown(event) {
  if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || event.repeat) return;
  const combination = combinationOf(event);
  const plain = !combination.startsWith("mod+");
  // A function key writes nothing.
  const writes = plain && !/^(?:shift\+)?f\d+$/.test(combination);
  if ((writes && isWriting(event.target)) || (plain && document.querySelector("dialog[open]"))) return;
  const binding = bindings.find((item) => item.combination === combination);
  if (!binding) return;
  event.preventDefault();
  binding.action(event);
}

function showKeys() {
  const list = one("[data-keys-list]");
  list.replaceChildren(
    ...[...pageBindings(), ...notes].flatMap(({ combination, label }) => [
      el("dt", {}, label),
      el("dd", {}, ...keyNames(combination).map((name) => el("kbd", {}, name))),
    ]),
  );
  openDialog(one("[data-keys]", document, HTMLDialogElement));
}

/* <kbd data-key="mod+enter"> says the key as this machine prints it. */
function nameKeys() {
  for (const mark of document.querySelectorAll("kbd[data-key]")) {
    mark.textContent = keyNames(mark.getAttribute("data-key") ?? "").join(isMac ? "" : "+");
  }
}

export function bindKeys() {
  bindKey("?", "Show these keys", showKeys);
  document.addEventListener("keydown", onKeyDown);
  nameKeys();
}
