/* Rows of links and people, wherever they are listed: change, rotate, revoke, another role. */
import { ApiError } from "../api.js";
import { one } from "../dom.js";
import { toast, toastError } from "../toast.js";
import { expiryOf } from "./expiry.js";
import { changeGrant, narrowLink, revokeGrant, revokeLink, rotateLink } from "./shares_api.js";

/** @typedef {{changed: () => Promise<void>, made: (url: string) => Promise<void>}} Hooks changed: the list is old; made: a link has a new address */

/** @param {HTMLFormElement} form @param {unknown} error */
export function sayProblem(form, error) {
  const problem = one("[data-form-error]", form, HTMLElement);
  problem.textContent = error === null ? "" : error instanceof ApiError ? error.sentence : String(error);
  problem.hidden = error === null;
}

/** Only what was changed. @param {HTMLFormElement} form @returns {Record<string, any>} */
export function changesOf(form) {
  const data = new FormData(form);
  const views = String(data.get("max_views") ?? "");
  const before = form.querySelector("[name=max_views]")?.getAttribute("value") ?? "";
  const expires = expiryOf(form);
  return {
    ...(expires === undefined ? {} : { expires_at: expires }),
    ...(views === before ? {} : { max_views: views === "" ? null : Number(views) }),
    ...(data.get("password") ? { password: data.get("password") } : data.has("no_password") ? { password: null } : {}),
    ...(data.has("signed_in") ? { audience: "signed_in" } : {}),
    ...(data.has("hide_history") ? { shows_history: false } : {}),
    ...(data.get("pin") ? { target: { version: Number(data.get("pin")) } } : {}),
  };
}

export class AccessRows {
  /**
   * @param {HTMLElement} root
   * @param {import("./revoke_dialog.js").RevokeDialog} revoking
   * @param {Hooks} hooks
   */
  constructor(root, revoking, hooks) {
    this.root = root;
    this.revoking = revoking;
    this.hooks = hooks;
    root.addEventListener("click", (event) => this.#clicked(/** @type {Element} */ (event.target)));
    root.addEventListener("change", (event) => void this.#chose(/** @type {Element} */ (event.target)));
    root.addEventListener("submit", (event) => {
      const form = /** @type {Element} */ (event.target).closest("[data-access-change]");
      if (!(form instanceof HTMLFormElement)) return;
      event.preventDefault();
      void this.#change(form);
    });
  }

  /** @param {Element} target */
  #clicked(target) {
    const action = target.closest("button[data-access-action]")?.getAttribute("value");
    const row = target.closest("[data-link], [data-grant]");
    if (!action || !(row instanceof HTMLElement)) return;
    if (action === "change" || action === "cancel-change") this.#toggle(row);
    if (action === "revoke") this.#revokeLink(row);
    if (action === "remove") this.#remove(row);
    if (action === "rotate") this.#rotate(row);
  }

  /** @param {HTMLElement} row */
  #toggle(row) {
    const form = one("[data-access-change]", row, HTMLFormElement);
    const button = one("[value=change]", row, HTMLButtonElement);
    form.hidden = !form.hidden;
    form.reset();
    sayProblem(form, null);
    button.setAttribute("aria-expanded", String(!form.hidden));
    (form.hidden ? button : one("select", form, HTMLElement)).focus();
  }

  /** @param {HTMLFormElement} form */
  async #change(form) {
    const row = /** @type {HTMLElement} */ (form.closest("[data-link], [data-grant]"));
    try {
      const changes = changesOf(form);
      if (Object.keys(changes).length === 0) {
        this.#toggle(row);
        return;
      }
      await (row.dataset.link ? narrowLink(row.dataset.link, changes) : changeGrant(row.dataset.grant ?? "", changes));
      await this.hooks.changed();
      toast(row.dataset.link ? "The link is changed" : "When it ends is changed");
    } catch (error) {
      sayProblem(form, error);
    }
  }

  /** @param {HTMLElement} row */
  #revokeLink(row) {
    this.revoking.ask({
      title: "Revoke this link?",
      words: "It stops working for everybody who came by it, and for nobody else: other links and the people in the list keep their access.",
      confirm: "Revoke link",
      after: "The link is revoked",
      act: () => revokeLink(row.dataset.link ?? ""),
      done: () => void this.hooks.changed(),
    });
  }

  /** @param {HTMLElement} row */
  #remove(row) {
    const name = one("[data-access-name]", row).textContent ?? "";
    this.revoking.ask({
      title: `Remove ${name}?`,
      words: `${name} no longer sees this prompt. What they saved in it stays. Links that they were sent go on working until they are revoked, too.`,
      confirm: "Remove",
      after: `${name} is removed`,
      act: () => revokeGrant(row.dataset.grant ?? ""),
      done: () => void this.hooks.changed(),
    });
  }

  /** @param {HTMLElement} row */
  #rotate(row) {
    /** @type {string} */
    let url = "";
    this.revoking.ask({
      title: "A new address for this link?",
      words: "The old address stops working, and who came by it is out. The new one is shown once, with the same limits.",
      confirm: "Make a new address",
      after: "The old address is revoked",
      act: async () => {
        const answer = await rotateLink(row.dataset.link ?? "");
        url = answer.url ?? "";
        return { revoked_at: new Date().toISOString() };
      },
      done: () => void this.hooks.made(url),
    });
  }

  /** @param {Element} target */
  async #chose(target) {
    if (!(target instanceof HTMLSelectElement) || !target.matches("[data-grant-role]")) return;
    const row = target.closest("[data-grant]");
    const [role, shares] = target.value.split("+");
    try {
      await changeGrant(row?.getAttribute("data-grant") ?? "", { role, may_share: shares === "share" });
      await this.hooks.changed();
      toast("The role is changed. Open tabs follow within seconds.");
    } catch (error) {
      toastError(error);
      await this.hooks.changed();
    }
  }
}
