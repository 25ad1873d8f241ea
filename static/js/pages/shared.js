/* The page of a link: large texts in windows, the call for one's own code, and the question whether it may still be shown. */
import { callText } from "../api.js";
import { el, icon, one, pageData } from "../dom.js";
import { TextSource } from "../large/text_source.js";
import { TextWindow } from "../large/text_window.js";
import { listen } from "../sharing/access_news.js";
import { AccessWatch, askWithin } from "../sharing/access_watch.js";
import { bindTabs } from "../tabs.js";

/** @type {{state: string, watch: string, version: number, following: boolean, boundS: number}} */
const page = pageData("page");
const ANSWER_WITHIN_MS = 8000;

function openWindows() {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-large]"))) {
    const { large = "", bytes = "0", label = "Text" } = box.dataset;
    const reader = new TextWindow(new TextSource(large, Number(bytes)), label);
    box.querySelector(".doc-large")?.replaceWith(reader.element);
    void reader.open();
  }
}

class Snippets {
  constructor() {
    this.root = one("[data-snippets]", document, HTMLDetailsElement);
    this.text = one("[data-snippet-text]", this.root, HTMLElement);
    this.address = one("[role=tab][aria-selected=true]", this.root).getAttribute("value") ?? "";
    bindTabs(one("[data-snippet-tabs]", this.root, HTMLElement), (tab) => {
      this.address = tab.getAttribute("value") ?? "";
      void this.fetch();
    });
    this.root.addEventListener("toggle", () => this.root.open && void this.fetch());
  }

  async fetch() {
    const { address } = this;
    const problem = one("[data-snippet-error]", this.root, HTMLElement);
    problem.hidden = true;
    try {
      const text = await callText(address);
      if (address === this.address) this.text.textContent = text;
    } catch (error) {
      this.text.textContent = "";
      problem.textContent = /** @type {Error} */ (error).message;
      problem.hidden = false;
    }
  }
}

/** What the link follows moved on while the page was open. @param {{version: number}} answer */
function tellNewer({ version }) {
  const region = one("[data-shared-notices]");
  if (!page.following || version === page.version || region.childElementCount > 0) return;
  const words = el("span", { class: "notice-text" }, `This link shows version ${version} now. Here you still see version ${page.version}.`);
  const reload = el("button", { class: "button button-small", type: "button" }, `Show version ${version}`);
  reload.addEventListener("click", () => location.reload());
  region.append(el("div", { class: "notice", role: "status" }, icon("info"), words, reload));
}

const shown = one("[data-shared]", document, HTMLElement);
const ended = one("[data-shared-ended]", document, HTMLElement);

/** @param {import("../sharing/access_watch.js").State} state */
function paint(state) {
  shown.hidden = state !== "shown";
  ended.hidden = state === "shown";
  if (state === "covered") {
    one("[data-ended-title]", ended).textContent = "The server does not answer";
    one("[data-ended-words]", ended).textContent = "Whether you may still read this cannot be asked, so it is not shown. It comes back by itself as soon as the server answers.";
  }
  if (state === "ended") {
    // Not only out of sight: out of the page.
    shown.remove();
    document.getElementById("page")?.remove();
    document.title = "Access has ended · Prompt playground";
    one("[data-ended-title]", ended).textContent = "Access has ended";
    one("[data-ended-words]", ended).textContent = "Whoever shared this prompt took the link back, or its time was over. Nothing of it is left in this page.";
    ended.focus();
  }
}

const watch = new AccessWatch(() => askWithin(page.state, ANSWER_WITHIN_MS), { boundMs: page.boundS * 1000, onAnswer: tellNewer, onState: paint });
one("[data-ended-retry]").addEventListener("click", () => (watch.state === "ended" ? location.reload() : void watch.check()));
openWindows();
new Snippets();
watch.start();
listen(page.watch, () => void watch.check());
