/* Sharing on the workbench: the dialog, leaving, and the question whether somebody else's prompt may still be shown. */
import { ApiError, call } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";
import { sayNext } from "../flash.js";
import { bindKey } from "../keys.js";
import { notice } from "../notices.js";
import { listen } from "./access_news.js";
import { AccessWatch } from "./access_watch.js";
import { paintMoments } from "./expiry.js";
import { LeaveDialog } from "./leaving.js";
import { may } from "./permissions.js";
import { ShareDialog } from "./share_dialog.js";

/** @typedef {import("../workbench.js").Workbench} Workbench */

const BOUND_MS = 30_000;
const ANSWER_WITHIN_MS = 8000;

/** @param {Workbench} bench */
function bindShare(bench) {
  const share = new ShareDialog(() => location.reload());
  const open = () => void share.open(bench.promptId, bench.version?.number ?? 0);
  one("[data-share-button]").addEventListener("click", open);
  bindKey("alt+s", "Share", open);
}

function bindLeaving() {
  const leaving = new LeaveDialog((name) => {
    sayNext(`You left ${name}`);
    location.assign("/");
  });
  one("[data-prompt-menu]").addEventListener("leave", (event) => {
    const { id, name } = /** @type {CustomEvent} */ (event).detail;
    leaving.open(id, name);
  });
}

/** What was written here and not saved, as a file: the page it belonged to is gone. @param {Workbench} bench */
function download(bench) {
  const file = new Blob([JSON.stringify(bench.form.read(), null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "unsaved-prompt.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

class Ending {
  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.dialog = one("[data-access-ended]", document, HTMLDialogElement);
    this.frame = one(".frame", document, HTMLElement);
    this.mine = one("[data-keep-mine]", this.dialog, HTMLButtonElement);
    this.over = false;
    this.dialog.addEventListener("cancel", (event) => event.preventDefault());
    this.mine.addEventListener("click", () => download(bench));
  }

  /** @param {import("./access_watch.js").State} state */
  paint(state) {
    this.frame.hidden = state !== "shown";
    if (state === "shown") {
      this.dialog.close();
      return;
    }
    for (const open of document.querySelectorAll("dialog[open]")) if (open !== this.dialog) /** @type {HTMLDialogElement} */ (open).close();
    const unsaved = this.bench.isDirty && may("change");
    one("[data-ended-title]", this.dialog).textContent = state === "ended" ? "Access has ended" : "The server does not answer";
    one("[data-ended-words]", this.dialog).textContent =
      state === "ended"
        ? `Its owner no longer shares this prompt with you, or it is gone. ${unsaved ? "What you wrote and did not save is still in this page: download it before you leave." : "Nothing that you saved is lost: it stays in the prompt."}`
        : "Whether you may still see this prompt cannot be asked, so it is not shown. It comes back by itself as soon as the server answers.";
    this.mine.hidden = !(state === "ended" && unsaved);
    openDialog(this.dialog);
  }
}

/** The page shows what the role of its loading allowed. @param {{can?: Record<string, boolean>}} answer */
function tellRole({ can }) {
  if (!can || (can.change === may("change") && can.comment === may("comment") && can.share === may("share"))) return;
  notice("Your role on this prompt was changed. Reload the page to see what you may do now; what you wrote is kept.", {
    name: "role",
    tone: "warn",
    actions: [{ label: "Reload", action: () => location.reload() }],
  });
}

/** @param {Workbench} bench */
function watch(bench) {
  const ending = new Ending(bench);
  const ask = () => call(`prompts/${bench.promptId}/access`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).catch((error) => {
    // An answer that took too long is none, and is asked for again.
    throw error instanceof ApiError ? error : new Error("no answer");
  });
  const watching = new AccessWatch(ask, { boundMs: BOUND_MS, onAnswer: tellRole, onState: (state) => ending.paint(state) });
  watching.start();
  listen(`/ws/prompts/${bench.promptId}/`, () => void watching.check());
}

/** @param {Workbench} bench */
export function bindSharing(bench) {
  if (may("share")) bindShare(bench);
  paintMoments();
  if (may("own")) return;
  bindLeaving();
  watch(bench);
}
