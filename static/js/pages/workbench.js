/* The workbench: wires the panes together. */
import { one, pageData } from "../dom.js";
import { showSaid } from "../flash.js";
import { bindKey } from "../keys.js";
import { bindPromptMenu } from "../library/prompt_menu.js";
import { bindPanes } from "../panes.js";
import { bindRename } from "../rename_form.js";
import { toastError } from "../toast.js";
import { Workbench } from "../workbench.js";
import { pane } from "./tree.js";

const root = one("#main", document, HTMLElement);
const page = pageData("page");
bindPanes(root);
bindRename(page.prompt.id);
const bench = new Workbench(root, page, pane);

bindPromptMenu(() => bench.version?.number ?? 0);
one("[data-save]").addEventListener("click", () => void bench.openSave());
one("[data-run]").addEventListener("click", () => void bench.run());
one("[data-get-code]").addEventListener("click", () => void bench.getCode());
bindKey("mod+s", "Save a version", () => void bench.openSave());
bindKey("mod+enter", "Run", () => void bench.run());

showSaid();
bench.start().catch(toastError);
