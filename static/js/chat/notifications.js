/* Notifications of the browser, if it has them and the person wants them: for messages that nobody is looking at. */

import { lineOf } from "./conversation_list.js";

/** @typedef {import("./messages.js").Message} Message */

/* Without a secure address (plain http on a home network) there is none. */
const canAsk = () => "Notification" in window && Notification.permission === "default";

export function bindNotifications() {
  const button = document.querySelector("[data-notify]");
  if (!(button instanceof HTMLElement)) return;
  button.hidden = !canAsk();
  button.addEventListener("click", async () => {
    await Notification.requestPermission();
    button.hidden = !canAsk();
  });
}

/**
 * @param {Message} message
 * @param {string} name of who wrote it
 * @param {() => void} open shows the conversation
 */
export function notify(message, name, open) {
  if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const body = lineOf(message);
  // The same tag: a second message of a conversation takes the place of the first.
  const shown = new Notification(name, { body, tag: message.conversation });
  shown.addEventListener("click", () => {
    window.focus();
    shown.close();
    open();
  });
}
