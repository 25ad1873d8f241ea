/* The address of a link, which is shown once: to copy, or to photograph. */
import { cookie } from "../api.js";
import { one } from "../dom.js";
import { toastError } from "../toast.js";

/**
 * @param {HTMLElement} root [data-new-link]
 * @param {string} url
 * @param {string} drawing where an address becomes a QR code
 */
export function showNewLink(root, url, drawing) {
  const field = one("[data-new-link-url]", root, HTMLInputElement);
  const button = one("[data-new-link-qr]", root, HTMLButtonElement);
  const figure = one("[data-new-link-code]", root, HTMLElement);
  field.value = url;
  root.hidden = false;
  figure.hidden = true;
  button.setAttribute("aria-expanded", "false");
  button.onclick = () => {
    figure.hidden = !figure.hidden;
    button.setAttribute("aria-expanded", String(!figure.hidden));
    if (!figure.hidden) draw(figure, url, drawing).catch(toastError);
  };
  field.focus();
  field.select();
  root.scrollIntoView({ block: "nearest" });
}

/** In the body of a request, never in an address: those end up in logs. @param {HTMLElement} figure @param {string} url @param {string} drawing */
async function draw(figure, url, drawing) {
  const response = await fetch(drawing, { method: "POST", body: new URLSearchParams({ url }), headers: { "X-CSRFToken": cookie("csrftoken") } });
  if (!response.ok) throw new Error(`No QR code: ${response.status}`);
  const picture = await response.text();
  one("img", figure, HTMLImageElement).src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  figure.scrollIntoView({ block: "nearest" });
}
