/* The Share dialog: who has access, as the server draws it; adding people and links; taking access away. */
import { ApiError, newKey } from "../api.js";
import { openDialog } from "../dialog.js";
import { one } from "../dom.js";
import { bindTabs } from "../tabs.js";
import { paintTime } from "../time.js";
import { toast, toastError } from "../toast.js";
import { AccessRows, sayProblem } from "./access_rows.js";
import { bindExpiry, expiryOf, paintMoments } from "./expiry.js";
import { showNewLink } from "./new_link.js";
import { RevokeDialog } from "./revoke_dialog.js";
import { answerRequest, grantAccess, makeLink, offerOwnership, revokeAll, withdrawOffer } from "./shares_api.js";

/**
 * A page fragment, drawn by the server.
 * @param {string} path
 * @returns {Promise<Node[]>}
 */
export async function fragment(path) {
  const response = await fetch(path, { headers: { "X-Fragment": "yes" }, cache: "no-store" });
  if (!response.ok && response.status >= 500) throw new ApiError({ message: "The server cannot show this.", code: "unexpected", status: response.status });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return [...page.body.childNodes].map((node) => document.adoptNode(node));
}

/** @param {FormData} data @param {string} name @returns {Record<string, any>} nothing for an empty field */
function given(data, name) {
  const value = String(data.get(name) ?? "").trim();
  return value ? { [name]: value } : {};
}

/** @param {string} value such as "version:12", "branch:main" @returns {Record<string, any>} */
export function targetOf(value) {
  const [kind, ...rest] = value.split(":");
  const name = rest.join(":");
  return { [kind]: kind === "version" ? Number(name) : name };
}

export class ShareDialog {
  /** @param {() => void} [onChange] who has access is other than before */
  constructor(onChange = () => {}) {
    this.dialog = one("[data-share-dialog]", document, HTMLDialogElement);
    this.body = one("[data-share-body]", this.dialog, HTMLElement);
    this.onChange = onChange;
    this.path = "";
    this.prompt = "";
    this.key = newKey();
    this.busy = false;
    this.changed = false;
    this.revoking = new RevokeDialog();
    new AccessRows(this.body, this.revoking, {
      changed: () => this.#refresh(),
      made: async (url) => {
        await this.#refresh();
        this.#showUrl(url);
      },
    });
    bindExpiry(this.body);
    this.body.addEventListener("click", (event) => this.#clicked(/** @type {Element} */ (event.target)));
    this.body.addEventListener("submit", (event) => {
      const form = /** @type {HTMLFormElement} */ (event.target);
      if (form.matches("[data-access-change]")) return;
      event.preventDefault();
      void this.#submit(form);
    });
    this.body.addEventListener("change", (event) => this.#allowSharing(/** @type {Element} */ (event.target)));
    this.dialog.addEventListener("close", () => this.changed && this.onChange());
  }

  /**
   * @param {string} prompt
   * @param {number} [version] the one that a link shows unless told otherwise
   */
  async open(prompt, version = 0) {
    if (document.querySelector("dialog[open]")) return;
    this.prompt = prompt;
    this.path = `/prompts/${prompt}/sharing/${version ? `?version=${version}` : ""}`;
    this.changed = false;
    this.body.replaceChildren();
    one("[data-share-sentence]", this.dialog).textContent = "Loading";
    openDialog(this.dialog);
    await this.#load().catch((error) => {
      this.dialog.close();
      toastError(error);
    });
    this.body.querySelector("input")?.focus();
  }

  async #load() {
    this.body.replaceChildren(...(await fragment(this.path)));
    const content = this.body.querySelector("[data-share-content]");
    one("#share-title", this.dialog).textContent = content?.getAttribute("data-title") ?? "Share";
    one("[data-share-sentence]", this.dialog).textContent = content?.getAttribute("data-sentence") ?? "";
    const tabs = this.body.querySelector("[data-share-tabs]");
    if (tabs instanceof HTMLElement) bindTabs(tabs);
    for (const time of this.body.querySelectorAll("time[data-relative]")) paintTime(/** @type {HTMLTimeElement} */ (time));
    paintMoments(this.body);
  }

  async #refresh() {
    this.changed = true;
    const tab = this.body.querySelector("[data-share-tabs] [aria-selected=true]")?.id;
    await this.#load();
    const again = tab && document.getElementById(tab);
    if (again) again.click();
  }

  /** @param {string | undefined} url */
  #showUrl(url) {
    if (!url) {
      toast("The link was made, and its address was in an answer that never arrived. Give it a new address.", { tone: "warn" });
      return;
    }
    showNewLink(one("[data-new-link]", this.body, HTMLElement), url, this.dialog.dataset.qr ?? "");
  }

  /** Only an editor can share on. @param {Element} target */
  #allowSharing(target) {
    if (!(target instanceof HTMLSelectElement) || target.name !== "role") return;
    const box = target.form?.elements.namedItem("may_share");
    if (!(box instanceof HTMLInputElement)) return;
    box.disabled = target.value !== "editor";
    if (box.disabled) box.checked = false;
  }

  /** @param {Element} target */
  #clicked(target) {
    const answer = target.closest("button[data-answer]");
    const action = target.closest("button[data-access-action]")?.getAttribute("value");
    if (answer instanceof HTMLButtonElement) void this.#answer(answer);
    if (action === "revoke-all") this.#revokeAll();
    if (action === "offer") this.#offer();
    const transfer = target.closest("[data-transfer]")?.getAttribute("data-transfer");
    if (action === "withdraw" && transfer) void this.#try(() => withdrawOffer(transfer), "Withdrawn");
  }

  /** @param {() => Promise<any>} act @param {string} words */
  async #try(act, words) {
    try {
      await act();
      await this.#refresh();
      toast(words);
    } catch (error) {
      toastError(error);
    }
  }

  /** @param {HTMLButtonElement} button */
  async #answer(button) {
    const request = button.closest("[data-request]")?.getAttribute("data-request") ?? "";
    await this.#try(() => answerRequest(request, button.value), button.value ? "Access is given" : "Declined");
  }

  #revokeAll() {
    this.revoking.ask({
      title: "Revoke everything?",
      words: "All links stop working, and nobody but you sees this prompt any more.",
      confirm: "Revoke everything",
      after: "Everything is revoked",
      act: () => revokeAll(this.prompt),
      done: () => void this.#refresh(),
    });
  }

  #offer() {
    const form = one("[data-offer]", this.body, HTMLFormElement);
    form.hidden = !form.hidden;
    if (!form.hidden) one("select", form, HTMLSelectElement).focus();
  }

  /** @param {HTMLFormElement} form */
  async #submit(form) {
    if (this.busy) return;
    this.busy = true;
    sayProblem(form, null);
    try {
      if (form.matches("[data-add-person]")) await this.#addPerson(form);
      if (form.matches("[data-add-link]")) await this.#addLink(form);
      if (form.matches("[data-offer]")) await this.#sendOffer(form);
    } catch (error) {
      sayProblem(form, error);
    }
    this.busy = false;
  }

  /** @param {HTMLFormElement} form */
  async #addPerson(form) {
    const data = new FormData(form);
    const account = String(data.get("email")).trim();
    await grantAccess(this.prompt, { account, role: data.get("role"), expires_at: expiryOf(form), may_share: data.has("may_share") });
    await this.#refresh();
    toast(`Shared with ${account}`);
    this.body.querySelector("input")?.focus();
  }

  /** @param {HTMLFormElement} form */
  async #addLink(form) {
    const data = new FormData(form);
    const views = Number(data.get("max_views"));
    const wanted = {
      audience: data.get("audience"),
      target: targetOf(String(data.get("target"))),
      shows_history: data.has("shows_history"),
      expires_at: expiryOf(form),
      ...given(data, "password"),
      ...given(data, "note"),
      ...(views ? { max_views: views } : {}),
    };
    const { url } = await makeLink(this.prompt, wanted, this.key).catch((error) => {
      if (error instanceof ApiError && error.status > 0) this.key = newKey();
      throw error;
    });
    this.key = newKey();
    await this.#refresh();
    this.#showUrl(url);
  }

  /** @param {HTMLFormElement} form */
  async #sendOffer(form) {
    const account = String(new FormData(form).get("account"));
    await offerOwnership(this.prompt, account);
    await this.#refresh();
    toast(`Offered to ${account}`);
  }
}
