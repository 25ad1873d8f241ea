/* What others share with me: each can be left. */
import { one } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { paintMoments } from "../sharing/expiry.js";
import { LeaveDialog } from "../sharing/leaving.js";

const leaving = new LeaveDialog((name) => {
  sayNext(`You left ${name}`);
  location.reload();
});

one("#main").addEventListener("click", (event) => {
  const row = /** @type {Element} */ (event.target).closest("[data-leave]")?.closest("[data-shared-row]");
  if (row instanceof HTMLElement) leaving.open(row.dataset.sharedRow ?? "", row.dataset.name ?? "");
});
paintMoments();
showSaid();
