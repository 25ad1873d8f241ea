"""From one conversation to the next without a new page: one socket, real addresses, back, drafts, nothing missed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat.conftest import Accounts, Meet
from tests.browser.conftest import Complaints
from tests.browser.talk import ChatPage, Person, bodies, send, start_conversation


@pytest.fixture
def other(ada: Person, cleo: Person) -> str:
    return start_conversation(ada, cleo)


def row(page: Page, conversation: str) -> Callable[[], None]:
    return page.locator(f"[data-conversation='{conversation}'] [data-row-link]").click


def show(page: Page, conversation: str) -> None:
    """Until its pane is there: the socket, by which a page is found to be ready, stays the same."""
    row(page, conversation)()
    link = page.locator(f"[data-conversation='{conversation}'] [data-row-link]")
    expect(link).to_have_attribute("aria-current", "page")


def test_one_socket_serves_all_panes_and_the_address_title_and_list_follow(
    ada: Person, ben: Person, cleo: Person, conversation: str, other: str, word: str
) -> None:
    send(ben, conversation, f"of ben {word}")
    send(cleo, other, f"of cleo {word}")
    page = ada.context.new_page()
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    chat = ChatPage(page).open(conversation)
    page.evaluate("window.same = true")
    expect(chat.message(f"of ben {word}")).to_be_visible()
    row(page, other)()
    expect(chat.message(f"of cleo {word}")).to_be_visible()
    expect(chat.message(f"of ben {word}")).to_have_count(0)
    expect(page).to_have_url(re.compile(f"/chat/{other}/$"))
    expect(page).to_have_title(re.compile("cleo"))
    expect(page.locator("[aria-current='page'][data-row-link]")).to_have_text(re.compile("cleo"))
    chat.say(f"to cleo {word}")
    expect(chat.mark(f"to cleo {word}")).to_have_attribute("data-mark", re.compile("sent|delivered|read"))
    page.go_back()
    expect(chat.message(f"of ben {word}")).to_be_visible()
    expect(page).to_have_url(re.compile(f"/chat/{conversation}/$"))
    page.go_forward()
    expect(chat.message(f"to cleo {word}")).to_be_visible()
    page.get_by_role("link", name="New conversation").first.click()
    expect(page.get_by_label("Name or e-mail address of the person")).to_be_focused()
    assert page.evaluate("window.same") is True
    assert len(sockets) == 1
    assert f"to cleo {word}" in bodies(cleo, other)
    assert f"to cleo {word}" not in "".join(bodies(ben, conversation))


def test_a_message_that_comes_while_a_pane_is_on_its_way_is_in_it(
    ada: Person, ben: Person, conversation: str, other: str, word: str
) -> None:
    """The server draws the pane, then the message is sent, then the pane arrives."""
    chat = ChatPage(ada.context.new_page()).open(other)

    def late(route: Route) -> None:
        answer = route.fetch()
        send(ben, conversation, f"meanwhile {word}")
        threading.Event().wait(1.5)
        route.fulfill(response=answer)

    chat.page.route(f"**/chat/{conversation}/", late)
    row(chat.page, conversation)()
    expect(chat.message(f"meanwhile {word}")).to_have_count(1)
    expect(chat.page.locator(f"[data-conversation='{conversation}'] [data-row-unread]")).to_be_hidden()


def test_each_conversation_has_its_draft_and_its_waiting_messages(
    ada: Person, conversation: str, other: str, word: str, complaints: Complaints
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    chat = ChatPage(ada.context.new_page()).open(conversation)
    chat.text.fill(f"half a thought {word}")
    row(chat.page, other)()
    expect(chat.text).to_have_value("")
    chat.text.fill(f"another {word}")
    row(chat.page, conversation)()
    expect(chat.text).to_have_value(f"half a thought {word}")
    ada.context.set_offline(True)
    expect(chat.state).to_contain_text("Offline")
    chat.say(f"waits {word}")
    waiting = chat.page.locator("[data-waiting]", has_text=word)
    expect(waiting).to_have_count(1)
    row(chat.page, other)()
    expect(chat.page.locator("[data-toast]")).to_contain_text("cannot be reached")
    expect(waiting).to_have_count(1)
    ada.context.set_offline(False)
    chat.wait()
    expect(chat.message(f"waits {word}")).to_have_count(1)
    row(chat.page, other)()
    expect(chat.text).to_have_value(f"another {word}")
    chat.text.fill("")


def test_on_a_phone_the_list_and_the_conversation_take_turns(
    meet: Meet, accounts: Accounts, ben: Person, conversation: str, word: str
) -> None:
    send(ben, conversation, f"on the phone {word}")
    phone = meet(accounts[0], viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.context.new_page()
    page.goto("/chat/")
    chat = ChatPage(page).wait()
    row(page, conversation)()
    expect(chat.message(f"on the phone {word}")).to_be_visible()
    expect(page.locator("[data-conversations]")).to_be_hidden()
    page.get_by_role("link", name="All conversations").click()
    expect(page.locator("[data-conversations]")).to_be_visible()
    expect(chat.text).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_is_said_at_the_socket_for_another_conversation_only_counts_there(
    ada: Person, cleo: Person, conversation: str, other: str, word: str
) -> None:
    chat = ChatPage(ada.context.new_page()).open(other)
    show(chat.page, conversation)
    before = chat.page.locator(f"[data-conversation='{other}'] [data-count]")
    count = int(before.inner_text() or 0)
    send(cleo, other, f"for later {word}")
    expect(chat.page.locator(f"[data-conversation='{other}'] [data-row-last]")).to_have_text(f"for later {word}")
    expect(before).to_have_text(str(count + 1))
    expect(chat.message(f"for later {word}")).to_have_count(0)
    row(chat.page, other)()
    expect(chat.message(f"for later {word}")).to_be_visible()
    expect(chat.page.locator(f"[data-conversation='{other}'] [data-row-unread]")).to_be_hidden()
