"""What the page does when its stream has a hole, its place is gone, or its clock is wrong."""

from __future__ import annotations

import datetime as dt
import json

import psycopg
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.chat.conftest import Accounts, Meet
from tests.browser.conftest import Complaints
from tests.browser.talk import ChatPage, Person, send
from tests.services_plugin import Instance
from tests.waiting import wait_until


class LosesEvents:
    """Between the page and the server: what `loses` says is swallowed on its way to the page."""

    def __init__(self) -> None:
        self.loses = False
        self.lost = 0
        self.opened = 0

    def connect(self, socket: WebSocketRoute) -> None:
        self.opened += 1
        server = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            if self.loses and json.loads(message)["type"] == "event":
                self.lost += 1
            else:
                socket.send(message)

        server.on_message(pass_on)

    def wait_for_loss(self, page: Page) -> None:
        """Messages of the socket are only seen while the page is waited for."""

        def is_lost() -> bool:
            page.wait_for_timeout(50)
            return self.lost > 0

        wait_until(is_lost)
        assert self.lost == 1


def test_a_hole_is_seen_at_the_next_pong_and_filled(ada: Person, ben: Person, conversation: str, word: str) -> None:
    """The event was sent and never arrived; nothing else comes that would show it."""
    between = LosesEvents()
    page = ada.context.new_page()
    page.route_web_socket("**/ws/chat/", between.connect)
    chat = ChatPage(page).open(conversation)
    between.loses = True
    send(ben, conversation, f"swallowed {word}")
    between.wait_for_loss(page)
    expect(chat.message(word)).to_have_count(0)
    between.loses = False
    opened = between.opened
    page.evaluate("window.dispatchEvent(new Event('online'))")  # asks at once, as a ping would within 30 s
    expect(chat.message(f"swallowed {word}")).to_have_count(1)
    # More than once where the limit of sockets a minute sent it away.
    assert between.opened > opened


def test_the_event_after_a_hole_shows_it_too(ada: Person, ben: Person, conversation: str, word: str) -> None:
    between = LosesEvents()
    page = ada.context.new_page()
    page.route_web_socket("**/ws/chat/", between.connect)
    chat = ChatPage(page).open(conversation)
    between.loses = True
    send(ben, conversation, f"{word} first")
    between.wait_for_loss(page)
    between.loses = False
    send(ben, conversation, f"{word} second")
    expect(chat.message(word)).to_have_count(2)
    assert [text.split()[1] for text in chat.message(word).locator(".bubble").all_inner_texts()] == ["first", "second"]


def test_a_place_that_the_server_no_longer_has_is_made_good_from_the_history(
    ada: Person, ben: Person, conversation: str, word: str, live_stack: Instance, complaints: Complaints
) -> None:
    """As after 45 days away: the events are gone from the inbox, the messages are not."""
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    chat = ChatPage(ada.context.new_page()).open(conversation)
    ada.context.set_offline(True)
    expect(chat.state).to_contain_text("Offline")
    for number in range(3):
        send(ben, conversation, f"{word} {number}")
    with psycopg.connect(live_stack.environment["DATABASE_URL"]) as database:
        database.execute("DELETE FROM chat_inbox WHERE recipient_id = %s", (ada.id,))
        database.execute("UPDATE chat_mailbox SET acked_seq = last_inbox_seq WHERE user_id = %s", (ada.id,))
    ada.context.set_offline(False)
    expect(chat.message(word)).to_have_count(3)
    expect(chat.page.locator(f"[data-conversation='{conversation}'] [data-row-last]")).to_have_text(f"{word} 2")
    chat.say(f"{word} answer")
    expect(chat.message(f"{word} answer")).to_have_count(1)


def test_clocks_that_are_minutes_off_change_no_order(
    meet: Meet, accounts: Accounts, conversation: str, word: str
) -> None:
    """Seven minutes ahead here, seven behind there: questions stay above their answers, on both screens."""
    chats = []
    for account, minutes in zip(accounts, (7, -7), strict=True):
        page = meet(account).context.new_page()
        page.clock.set_fixed_time(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes))
        chats.append(ChatPage(page).open(conversation))
    for number in range(4):
        chats[number % 2].say(f"{word} {number}")
        expect(chats[1 - number % 2].message(f"{word} {number}")).to_be_visible()
    for chat in chats:
        expect(chat.message(word)).to_have_count(4)
        texts = chat.message(word).locator(".bubble").all_inner_texts()
        assert [text.split()[1] for text in texts] == ["0", "1", "2", "3"]
