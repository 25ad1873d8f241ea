/* Collects the Lucide icons that the pages use into one sprite, static/vendor/icons.svg (committed). */
import { readFileSync, writeFileSync } from "node:fs";

const root = new URL("..", import.meta.url).pathname;
const { version } = JSON.parse(readFileSync(`${root}node_modules/lucide-static/package.json`, "utf8"));

/** Only what is used: name in the sprite is the name in Lucide. */
const names = [
  "activity", "archive", "archive-restore", "arrow-down", "arrow-left", "arrow-left-right", "arrow-right-left",
  "arrow-up", "at-sign", "ban", "bell", "bell-off", "check", "check-check", "chevron-down", "chevron-left",
  "chevron-right", "chevrons-up-down", "columns-3",
  "circle-alert", "circle-check", "clock", "code-xml", "copy", "door-open", "download", "ellipsis", "eye",
  "file-text", "flag", "folder", "folder-input", "git-branch", "git-compare", "git-fork", "git-merge", "globe",
  "grip-vertical",
  "history", "inbox", "info", "key-round", "keyboard", "link", "list", "list-checks", "lock", "log-out", "message-circle", "message-square",
  "monitor", "moon", "panel-left", "paperclip", "pause", "pencil", "pilcrow", "play", "plus", "qr-code", "redo-2",
  "refresh-cw", "rotate-ccw", "save", "search", "send", "settings-2", "share-2", "shield-check", "square", "sun",
  "tag", "trash-2", "triangle-alert", "undo-2", "upload", "user-plus", "user-round", "users", "wrench", "x",
];

const symbols = names.map((name) => {
  const source = readFileSync(`${root}node_modules/lucide-static/icons/${name}.svg`, "utf8");
  const inner = source.replace(/<!--.*?-->/gs, "").replace(/^[\s\S]*?<svg[\s\S]*?>/, "").replace(/<\/svg>\s*$/, "");
  const drawing = inner.trim().replace(/\s*\n\s*/g, "");
  return `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">${drawing}</symbol>`;
});

const note = `<!-- Lucide ${version}, ISC License, (c) Lucide Icons and contributors; see LICENSES.txt. Built by \`make vendor\`. -->`;
writeFileSync(`${root}static/vendor/icons.svg`, `${note}\n<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`);
