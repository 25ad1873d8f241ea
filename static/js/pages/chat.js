/* The pages of chat: the list everywhere, and the open conversation where there is one; one socket for all of them. */
import { call } from "../api.js";
import { one, pageData } from "../dom.js";
import { bindKey } from "../keys.js";
import { paintTimes } from "../time.js";
import { toastError } from "../toast.js";
import { fillCards } from "../chat/card.js";
import { ChatClient } from "../chat/client.js";
import { ConversationList } from "../chat/conversation_list.js";
import { bindNotifications, notify } from "../chat/notifications.js";
import { OpenConversation } from "../chat/open_conversation.js";
import { PaneNavigation } from "../chat/pane_navigation.js";
import { StateBar } from "../chat/state_bar.js";
import { showTitle } from "../chat/unread.js";

/** @typedef {import("../chat/messages.js").Message} Message */

const me = document.documentElement.dataset.user ?? "";
const list = new ConversationList(me);
const bar = new StateBar();
/** @type {OpenConversation | null} */
let open = null;
/* What the welcome counted is not counted again while the inbox is read for the first time. */
let counted = false;
/* Nor is it known of what comes meanwhile whether the welcome knew it: the server is asked again afterwards. */
let uncounted = false;
/* What came while another pane was on its way: the server may have drawn it before. @type {(() => void)[]} */
let meanwhile = /** @type {(() => void)[]} */ ([]);

async function recount() {
  const answer = await call("chat/unread").catch(() => null);
  if (!answer) return;
  const read = open && open.read >= (open.thread.messages.last?.seq ?? 0) ? open.id : "";
  const counts = Object.entries(answer.conversations).filter(([conversation]) => conversation !== read);
  list.setUnread(counts.map(([conversation, count]) => ({ conversation, count, muted: list.row(conversation)?.hasAttribute("data-muted") ?? false })));
}

/** @param {Message} message @param {string} kind */
function onMessage(message, kind) {
  if (panes.loading) meanwhile.push(() => open?.id === message.conversation && open.put(message, kind));
  const here = open?.id === message.conversation ? open : null;
  if (here?.put(message, kind) === "known") return;
  void list.tell(message);
  if (kind !== "message" || message.sender === me) return;
  uncounted ||= !counted;
  if (counted && !(here && here.read >= message.seq)) list.addUnread(message.conversation, 1);
  const row = list.row(message.conversation);
  if (row?.hasAttribute("data-muted")) return;
  const name = row?.querySelector("[data-row-name]")?.textContent ?? here?.page.peer.name ?? "New message";
  notify(message, name, () => void panes.go(`/chat/${message.conversation}/`));
}

const client = new ChatClient(me, {
  peers: () => [...new Set([...(open ? [open.page.peer.id] : []), ...list.peers()])].slice(0, 50),
  onState: (state) => {
    bar.show(state);
    if (state !== "live") list.forgetPresence();
    open?.allow(state);
  },
  onUnread: (unread) => {
    counted = false;
    list.setUnread(unread);
    open?.markRead();
  },
  onDrained: () => {
    counted = true;
    if (uncounted) void recount();
    uncounted = false;
  },
  onReset: () => void Promise.all([open?.thread.refresh(), list.refresh()]).catch(toastError),
  onMessage,
  onSent: ({ message, seq, created_at }, waiting) => {
    if (!waiting) return;
    const { id, conversation, body } = waiting;
    onMessage({ id: message, conversation, seq, sender: me, client_msg_id: id, body, reference: null, version: 1, created_at, edited_at: null, deleted: false }, "own");
  },
  onWaiting: (waiting, gone) => open?.wait(waiting, gone),
  onReceipt: (receipt) => {
    if (panes.loading) meanwhile.push(() => open?.mark(receipt));
    open?.mark(receipt);
  },
  onTyping: (typing) => open?.hearTyping(typing),
  onPresence: (people) => {
    list.showPresence(people);
    open?.showPresence(people);
  },
});

const panes = new PaneNavigation({
  onLeave: () => {
    open?.close();
    open = null;
  },
  onArrive: () => {
    const came = meanwhile;
    meanwhile = [];
    showTitle(document.title);
    paintTimes();
    arrive();
    for (const apply of came) apply();
    client.connection.ping();
  },
});

/** The pane that is there now. */
function arrive() {
  const page = pageData("page");
  if (page) {
    const toNewest = (/** @type {string} */ conversation) => void panes.go(`/chat/${conversation}/`);
    open = new OpenConversation(page, client, { onRead: (conversation) => list.clearUnread(conversation), toNewest });
    open.markRead();
  } else {
    const first = document.querySelector(".chat-main [autofocus]");
    if (first instanceof HTMLInputElement) first.focus();
    else if (document.activeElement === document.body) one("main", document, HTMLElement).focus({ preventScroll: true });
  }
}

fillCards();
arrive();
bindKey("m", "Write a message", () => open?.composer.text.focus());
bindKey("c", "New conversation", () => one("[data-new-conversation]", document, HTMLElement).click());
bindNotifications();
void client.start();
