/* <form data-submit-once>: a second click sends nothing. <button data-back>: shown when there is somewhere to go back to. */

export function bindForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.matches("[data-submit-once]")) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    for (const button of form.querySelectorAll("[type=submit]")) button.setAttribute("aria-disabled", "true");
  });
  // A page taken from the back-forward cache may be sent again.
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete (/** @type {HTMLFormElement} */ (form).dataset.sent);
      for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
    }
  });
  for (const button of document.querySelectorAll("[data-back]")) {
    if (history.length > 1 && button instanceof HTMLElement) {
      button.hidden = false;
      button.addEventListener("click", () => history.back());
    }
  }
}
