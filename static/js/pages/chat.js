/* The pages of chat: the list everywhere, and the open conversation where there is one. */
import { one, pageData } from "../dom.js";
import { bindKey } from "../keys.js";
import { toastError } from "../toast.js";
import { ChatClient } from "../chat/client.js";
import { Composer } from "../chat/composer.js";
import { ConversationList } from "../chat/conversation_list.js";
import { canEdit, MessageActions } from "../chat/message_actions.js";
import { bindNotifications, notify } from "../chat/notifications.js";
import { PeerState } from "../chat/peer_state.js";
import { StateBar } from "../chat/state_bar.js";
import { place } from "../library/row_menu.js";
import { Thread } from "../chat/thread.js";

/** @typedef {import("../chat/messages.js").Message} Message */
/** @typedef {import("../chat/thread.js").Page} Page */

const me = document.documentElement.dataset.user ?? "";
/** @type {Page | null} */
const page = pageData("page");
const list = new ConversationList(me);
const bar = new StateBar();
const thread = page && new Thread(page);
const peer = page && new PeerState();
let read = page?.readSeq ?? 0;
/* What the welcome counted is not counted again while the inbox is read for the first time. */
let counted = false;

const isOpen = (/** @type {string} */ conversation) => conversation === page?.conversation;

/** Says what has been read: what is on the screen of somebody who looks at it. */
function markRead() {
  const last = thread?.messages.last;
  if (!thread || !page || page.before || !last || last.seq <= read || document.hidden || !document.hasFocus() || !thread.atEnd) return;
  if (!client.read(page.conversation, last.seq)) return;
  read = last.seq;
  list.clearUnread(page.conversation);
}

/** Somebody who reads or types is here, and need not wait for the next ping to be shown so. @param {string} conversation */
function askWhetherHere(conversation) {
  if (isOpen(conversation) && !peer?.known?.online) client.connection.ping();
}

/** @param {Message} message @param {string} kind */
function onMessage(message, kind) {
  const fresh = !thread || !isOpen(message.conversation) ? "new" : thread.put(message);
  if (fresh === "known") return;
  void list.tell(message);
  if (kind !== "message" || message.sender === me) return;
  if (isOpen(message.conversation)) {
    peer?.stopTyping();
    markRead();
  }
  if (counted && !(isOpen(message.conversation) && read >= message.seq)) list.addUnread(message.conversation, 1);
  const row = list.row(message.conversation);
  if (!row?.hasAttribute("data-muted")) notify(message, row?.querySelector("[data-row-name]")?.textContent ?? page?.peer.name ?? "New message");
}

const client = new ChatClient(me, {
  peers: () => [...new Set([...(page ? [page.peer.id] : []), ...list.peers()])].slice(0, 50),
  onState: (state) => {
    bar.show(state);
    if (state !== "live") {
      peer?.forget();
      list.forgetPresence();
    }
    composer?.allow(state !== "replaced" && state !== "signed-out");
  },
  onUnread: (unread) => {
    counted = false;
    list.setUnread(unread);
    markRead();
  },
  onDrained: () => {
    counted = true;
  },
  onReset: () => void Promise.all([thread?.refresh(), list.refresh()]).catch(toastError),
  onMessage,
  onSent: ({ message, seq, created_at }, waiting) => {
    if (!waiting) return;
    const { id, conversation, body } = waiting;
    onMessage({ id: message, conversation, seq, sender: me, client_msg_id: id, body, reference: null, version: 1, created_at, edited_at: null, deleted: false }, "own");
  },
  onWaiting: (waiting, gone) => isOpen(waiting.conversation) && thread?.wait(waiting, gone),
  onReceipt: (receipt) => {
    if (isOpen(receipt.conversation)) thread?.mark(/** @type {any} */ (receipt));
    askWhetherHere(receipt.conversation);
  },
  onTyping: ({ conversation }) => {
    if (isOpen(conversation)) peer?.typing();
    askWhetherHere(conversation);
  },
  onPresence: (people) => {
    list.showPresence(people);
    const shown = people.find(({ id }) => id === page?.peer.id);
    if (shown) peer?.show(shown);
  },
});

const composer = page && thread && openConversation(page, thread);

/** @param {Page} open @param {Thread} shown */
function openConversation(open, shown) {
  const writing = new Composer(open.conversation, {
    onSend: async (text) => {
      await client.say(open.conversation, text);
      // An earlier part of the history has no place for it; it is kept, and goes out from the page of the newest.
      if (open.before) location.assign(`/chat/${open.conversation}/`);
    },
    onEdit: async (message, text) => void (await client.edit(message.id, text)),
    onTyping: () => client.typing(open.conversation),
    lastOwn: () => shown.messages.ordered.findLast((message) => canEdit(message, me)),
  });
  new MessageActions(shown, { edit: (message) => writing.edit(message), remove: (message) => client.delete(message.id) });
  shown.list.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-waiting-action]");
    const id = button?.closest("[data-waiting]")?.getAttribute("data-waiting") ?? "";
    const waiting = shown.waiting.get(id);
    const action = button?.getAttribute("data-waiting-action");
    if (!waiting) return;
    if (action === "retry") void client.outbox.retry(id);
    if (action === "edit") writing.bring(waiting.body);
    if (action === "edit" || action === "discard") void client.outbox.discard(id);
  });
  const menu = one("[data-chat-menu]", document, HTMLElement);
  menu.addEventListener("toggle", () => place(menu, one("[data-chat-menu-button]", document, HTMLElement)));
  for (const event of ["focus", "scroll"]) (event === "focus" ? window : shown.scroller).addEventListener(event, markRead);
  document.addEventListener("visibilitychange", markRead);
  bindKey("m", "Write a message", () => writing.text.focus());
  return writing;
}

bindKey("c", "New conversation", () => one("[data-new-conversation]", document, HTMLElement).click());
bindNotifications();
void client.start();
