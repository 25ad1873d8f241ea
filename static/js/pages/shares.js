/* All that I share: the rows of the Share dialog, on a page. */
import { one } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { openDialog } from "../dialog.js";
import { AccessRows } from "../sharing/access_rows.js";
import { bindExpiry, paintMoments } from "../sharing/expiry.js";
import { showNewLink } from "../sharing/new_link.js";
import { ShareDialog } from "../sharing/share_dialog.js";
import { revokeAll } from "../sharing/shares_api.js";

const root = one("#main", document, HTMLElement);
const share = new ShareDialog(() => location.reload());
const made = one("[data-link-made]", document, HTMLDialogElement);

new AccessRows(root, share.revoking, {
  changed: async () => location.reload(),
  made: async (url) => {
    openDialog(made);
    showNewLink(one("[data-new-link]", made, HTMLElement), url, share.dialog.dataset.qr ?? "");
  },
});
made.addEventListener("close", () => location.reload());

root.addEventListener("click", (event) => {
  const target = /** @type {Element} */ (event.target);
  const opener = target.closest("[data-share]");
  const group = target.closest("[data-shares-of]");
  if (opener) void share.open(opener.getAttribute("data-share") ?? "");
  if (target.closest("[data-revoke-all]") && group instanceof HTMLElement) {
    share.revoking.ask({
      title: `Revoke everything on “${group.dataset.name}”?`,
      words: "All its links stop working, and nobody but you sees this prompt any more.",
      confirm: "Revoke everything",
      after: "Everything is revoked",
      act: () => revokeAll(group.dataset.sharesOf ?? ""),
      done: () => {
        sayNext(`Nobody but you sees ${group.dataset.name} now`);
        location.reload();
      },
    });
  }
});
bindExpiry(root);
paintMoments();
showSaid();
