/* The workbench: wires the panes together. */
import { one, pageData } from "../dom.js";
import { showSaid } from "../flash.js";
import { bindKey } from "../keys.js";
import { bindPromptMenu } from "../library/prompt_menu.js";
import { bindPanes } from "../panes.js";
import { bindRename } from "../rename_form.js";
import { bindComments } from "../review/bench_comments.js";
import { bindSharing } from "../sharing/bench_sharing.js";
import { may } from "../sharing/permissions.js";
import { Talk } from "../talk/talk.js";
import { toastError } from "../toast.js";
import { Workbench } from "../workbench.js";
import { pane } from "./tree.js";

const root = one("#main", document, HTMLElement);
const page = pageData("page");
bindPanes(root);
if (may("own")) bindRename(page.prompt.id);
const bench = new Workbench(root, page, pane);
new Talk(bench);

const menu = bindPromptMenu(() => bench.version?.number ?? 0);
one("[data-save]").addEventListener("click", () => void bench.openSave());
one("[data-run]").addEventListener("click", () => void bench.run());
one("[data-get-code]").addEventListener("click", () => void bench.getCode());
if (may("change")) bindKey("mod+s", "Save a version", () => void bench.openSave());
if (may("run")) bindKey("mod+enter", "Run", () => void bench.run());
bindSharing(bench);

showSaid();
const started = bench.start();
// The texts are in the page by now, the rest of the start waits for the server.
bindComments(bench);
started
  .then(() => {
    // A card in a chat leads here to copy what it shows.
    if (new URLSearchParams(location.search).get("fork") === "yes") menu.start("fork");
  })
  .catch(toastError);
