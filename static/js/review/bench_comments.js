/* Comments on the workbench: the pane, the marks in the texts, the button beside a selection. */
import { call } from "../api.js";
import { versionPage } from "../addresses.js";
import { bindKey } from "../keys.js";
import { may } from "../sharing/permissions.js";
import { toast } from "../toast.js";
import { bindFloating } from "./comment_button.js";
import { CommentPane } from "./comment_pane.js";
import { Texts } from "./texts.js";

/** @typedef {import("../workbench.js").Workbench} Workbench */

/**
 * A thread that the address names: here, or on the version it was written on.
 * @param {CommentPane} pane
 * @param {string} id
 */
async function openNamed(pane, id) {
  if (pane.open(id)) return;
  try {
    const thread = await call(`threads/${encodeURIComponent(id)}`);
    if (thread.prompt === pane.bench.promptId && thread.version !== pane.number) {
      location.replace(`${versionPage(thread.prompt, thread.version)}?${new URLSearchParams({ thread: id })}`);
      return;
    }
  } catch {
    // Said below: deleted, or of a prompt that is not shared any more.
  }
  toast("This comment was deleted, or is not shared with you.", { tone: "warn" });
}

/** @param {Workbench} bench started: its texts are in the page */
export function bindComments(bench) {
  const texts = new Texts(bench);
  const pane = new CommentPane(bench, texts);
  bindKey("alt+c", "Comments", () => pane.show());
  bindFloating(texts, {
    onComment: may("comment") ? (passage) => pane.write(passage) : null,
    onPoint: (id) => pane.point(id),
    onOpen: (id) => pane.open(id),
  });
  bench.onVersion = () => pane.reset();
  const named = new URLSearchParams(location.search).get("thread");
  void pane.load().then(() => (named ? openNamed(pane, named) : undefined));
}
