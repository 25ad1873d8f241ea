/* The tools by name beneath their JSON: how many there are, one more from a template, and the way to each. */
import { el, one } from "../dom.js";
import { may } from "../sharing/permissions.js";
import { toast } from "../toast.js";
import { addingEdit, elementSpans, newTool, readTools } from "./tools_text.js";

export class ToolsList {
  /**
   * @param {HTMLElement} root
   * @param {import("../large/text_slot.js").TextSlot} slot
   */
  constructor(root, slot) {
    this.slot = slot;
    this.list = one("[data-tools-list]", root);
    /** @type {string | null} */
    this.painted = null;
    /** @type {import("./tools_text.js").ToolSummary[]} */
    this.tools = [];
    const add = one("[data-add-tool]", root, HTMLButtonElement);
    add.hidden = !may("change");
    add.addEventListener("click", () => this.#add());
  }

  get names() {
    return this.tools.map(({ name }) => name);
  }

  /** Brings the list up to date. @param {unknown} text the JSON, or what names it */
  paint(text) {
    const written = typeof text === "string" ? text : "";
    if (written === this.painted) return;
    this.painted = written;
    const { tools, problem } = readTools(written);
    // While somebody types, the list stays as it was.
    if (problem) return;
    this.tools = tools;
    this.list.replaceChildren(...tools.map((tool, index) => this.#row(tool, index)));
  }

  /** @param {import("./tools_text.js").ToolSummary} tool @param {number} index */
  #row({ name, description }, index) {
    const title = el("bdi", { class: "tool-name" }, name || "without a name");
    const button = el("button", { type: "button", class: "tool-row", title: description || undefined }, title, el("span", { class: "tool-about truncate" }, description));
    button.addEventListener("click", () => this.#show(index));
    return el("li", {}, button);
  }

  /** @param {number} index */
  #show(index) {
    const span = elementSpans(this.slot.editor.shown)[index];
    if (!span) return;
    this.slot.view.dispatch({ selection: { anchor: span.from, head: span.to }, scrollIntoView: true });
    this.slot.focus();
  }

  #add() {
    if (this.slot.held) {
      toast("These tools are a large text: add one with Edit.", { tone: "warn" });
      return;
    }
    const edit = addingEdit(this.slot.editor.shown, newTool(this.names));
    if (!edit) {
      toast("The tools are not JSON yet, so nothing was added. Put right what is marked first.", { tone: "warn" });
      this.slot.focus();
      return;
    }
    this.slot.editor.edit([edit]);
    const spans = elementSpans(this.slot.editor.shown);
    this.#show(spans.length - 1);
  }
}
