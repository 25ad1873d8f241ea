/* The page that compares two versions. */
import { call } from "../api.js";
import { comparePage } from "../addresses.js";
import { bindDiffBar } from "../diff_bar.js";
import { DiffView } from "../diff_view.js";
import { DiffWalk } from "../diff_walk.js";
import { one, pageData } from "../dom.js";
import { bindKey } from "../keys.js";
import { textAt } from "../spec_text.js";

/** @type {{promptId: string, from: number | null, to: number | null}} */
const page = pageData("page");
const root = one("[data-diff]", document, HTMLElement);
const walk = new DiffWalk(root);

/** @type {Promise<import("../spec.js").Spec> | undefined} */
let newer;
const textOf = async (/** @type {string} */ place) => {
  newer ??= call(`prompts/${page.promptId}/versions/${page.to}?include=texts`).then((version) => version.spec);
  return textAt(await newer, place);
};

const view = new DiffView(root, { textOf, level: "h2", onShow: () => walk.restart() });
bindDiffBar(view);

const swap = () => location.assign(comparePage(page.promptId, page.to ?? "", page.from ?? ""));
one("[data-swap]").addEventListener("click", swap);
bindKey("x", "Swap sides", swap);

const both = document.querySelector("[data-run-both]");
if (both instanceof HTMLAnchorElement) bindKey("r", "Run both side by side", () => both.click());

for (const input of document.querySelectorAll("[data-picker] input")) {
  input.addEventListener("change", () => /** @type {HTMLInputElement} */ (input).form?.requestSubmit());
}

if (page.from !== null && page.to !== null) void view.fetch(() => call(`prompts/${page.promptId}/diff?from=${page.from}&to=${page.to}`));
