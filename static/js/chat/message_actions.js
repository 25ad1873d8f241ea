/* What can be done to one message: copy, edit (15 minutes), delete, report. */
import { one } from "../dom.js";
import { openDialog } from "../dialog.js";
import { moveInMenu, place } from "../library/row_menu.js";
import { toast, toastError } from "../toast.js";

/** @typedef {import("./messages.js").Message} Message */

const EDITABLE_MS = 15 * 60_000;

/** @param {Message} message @param {string} me */
export function canEdit(message, me) {
  return message.sender === me && !message.deleted && Date.now() - Date.parse(message.created_at) < EDITABLE_MS;
}

export class MessageActions {
  /**
   * @param {import("./thread.js").Thread} thread
   * @param {{edit: (message: Message) => void, remove: (message: Message) => Promise<unknown>}} hooks
   */
  constructor(thread, hooks) {
    this.thread = thread;
    this.hooks = hooks;
    this.menu = one("[data-message-menu]", document, HTMLElement);
    /** @type {HTMLElement | null} */
    this.opener = null;
    /** @type {Message | null} */
    this.chosen = null;
    thread.list.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("[data-tools]");
      if (button instanceof HTMLElement) this.#open(button);
    });
    this.menu.addEventListener("keydown", (event) => moveInMenu(this.menu, event));
    this.menu.addEventListener("click", (event) => {
      const action = /** @type {Element} */ (event.target).closest("button")?.value;
      this.menu.hidePopover();
      this.opener?.focus();
      if (action) this.#act(action);
    });
    this.#bindDelete();
  }

  /** @param {HTMLElement} button */
  #open(button) {
    const id = button.closest("[data-message]")?.getAttribute("data-message") ?? "";
    const message = this.thread.messages.byId.get(id);
    if (!message) return;
    this.chosen = message;
    this.opener = button;
    const own = message.sender === this.thread.page.me;
    const shown = /** @type {Record<string, boolean>} */ ({ copy: true, edit: canEdit(message, this.thread.page.me), delete: own, report: !own });
    for (const item of this.menu.querySelectorAll("button")) item.hidden = !shown[item.value];
    this.menu.showPopover();
    place(this.menu, button);
    one("[role=menuitem]:not([hidden])", this.menu, HTMLElement).focus();
  }

  /** @param {string} action */
  #act(action) {
    const message = this.chosen;
    if (!message) return;
    if (action === "copy") void this.#copy(message);
    if (action === "edit") this.hooks.edit(message);
    if (action === "delete") openDialog(one("#delete-message", document, HTMLDialogElement));
    if (action === "report") {
      one("[data-report-id]", document, HTMLInputElement).value = message.id;
      openDialog(one("#report-message", document, HTMLDialogElement));
    }
  }

  /** @param {Message} message */
  async #copy(message) {
    try {
      await navigator.clipboard.writeText(message.body ?? "");
      toast("Copied");
    } catch {
      toast("The browser did not let this page copy. Select the text instead.", { tone: "warn" });
    }
  }

  #bindDelete() {
    const form = one("[data-delete-form]", document, HTMLFormElement);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const message = this.chosen;
      const problem = one("[data-form-error]", form, HTMLElement);
      problem.hidden = true;
      if (!message) return;
      try {
        await this.hooks.remove(message);
        form.closest("dialog")?.close();
      } catch (error) {
        if (!(error instanceof Error)) toastError(error);
        problem.textContent = /** @type {Error} */ (error).message;
        problem.hidden = false;
      }
    });
  }
}
