/* What every page has: theme, toasts, dialogs, keys, times, copying, forms, what is unread. */
import { bindUnread } from "./chat/unread.js";
import { bindCopy } from "./copy.js";
import { bindDialogs, openDialog } from "./dialog.js";
import { bindForms } from "./forms.js";
import { bindKey, bindKeys } from "./keys.js";
import { bindList } from "./list_keys.js";
import { bindPalette } from "./palette/palette.js";
import { bindInboxBadge } from "./sharing/inbox_badge.js";
import { bindTheme } from "./theme.js";
import { bindTimes } from "./time.js";
import { bindToasts } from "./toast.js";

bindTheme();
bindToasts();
bindDialogs();
bindTimes();
bindCopy();
bindForms();
bindList();
bindUnread();
bindInboxBadge();

const search = document.querySelector("[data-search]");
if (search instanceof HTMLInputElement) bindKey("slash", "Search", () => search.select());

const create = document.getElementById("new-prompt");
if (create instanceof HTMLDialogElement) bindKey("n", "New prompt", () => openDialog(create));

bindPalette();
bindKeys();
