/*
 * What a message points at: a version, a run, a wish for access. The server draws the card for who may see it; chat knows
 * its kind and its id.
 */
import { ApiError, address, call, callText } from "../api.js";
import { el, icon } from "../dom.js";
import { toastError } from "../toast.js";

const WORDS = /** @type {Record<string, string>} */ ({
  version: "A version of a prompt",
  run: "A run of a prompt",
  access_request: "Somebody asks for access",
});

/**
 * @param {{kind: string, id: string}} reference
 * @param {string} cards where cards are served; "" if nothing serves them
 * @returns {HTMLElement}
 */
export function card(reference, cards) {
  const plain = () => [icon("file-text"), el("span", {}, WORDS[reference.kind] ?? "Something of another kind")];
  const box = el("div", { class: "card", "data-card": reference.kind }, ...plain());
  if (cards) void fetchInto(box, `${cards}${reference.kind}/${reference.id}/`);
  return box;
}

/** @param {HTMLElement} box @param {string} path */
async function fetchInto(box, path) {
  try {
    const page = new DOMParser().parseFromString(await callText(path), "text/html");
    box.replaceChildren(...[...page.body.childNodes].map((node) => document.adoptNode(node)));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) box.replaceChildren(icon("file-text"), "A card that you may not see", askButton(path));
  }
}

/** @param {string} path */
function askButton(path) {
  const button = el("button", { class: "button button-small", type: "button" }, "Ask for access");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await call(address(`${path}ask/`), { method: "POST" });
      button.textContent = "Asked";
    } catch (error) {
      button.disabled = false;
      toastError(error);
    }
  });
  return button;
}
