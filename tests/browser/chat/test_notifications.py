"""Notifications of the browser: for who allowed them, about what nobody is looking at, and never against a wish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from tests.browser.chat.conftest import Accounts, Meet
from tests.browser.conftest import NAMES, find_chromium, launched
from tests.browser.talk import ChatPage, Person, send

#: The real constructor is called; what it was called with is kept. `hide()` is another tab in front of this one.
WATCH = """
    window.shown = [];
    const Real = window.Notification;
    window.Notification = class extends Real {
        constructor(title, options) {
            super(title, options);
            window.shown.push({title, body: options.body, tag: options.tag, notification: this});
        }
    };
    let hidden = false;
    Object.defineProperty(document, "hidden", {get: () => hidden});
    window.hide = (is) => { hidden = is; document.dispatchEvent(new Event("visibilitychange")); };
"""


@pytest.fixture(scope="module")
def chromium(driver: Playwright) -> Iterator[Browser]:
    """The whole browser: the one without windows grants nobody notifications."""
    with launched(driver, find_chromium(names=NAMES)) as browser:
        yield browser


def allow(person: Person) -> None:
    person.context.grant_permissions(["notifications"])


def refuse(person: Person) -> None:
    """Whatever is not among the granted ones is denied from then on."""
    person.context.grant_permissions(["geolocation"])


@pytest.fixture
def quiet(meet: Meet, accounts: Accounts) -> Person:
    person = meet(accounts[0])
    person.context.add_init_script(WATCH)
    return person


def shown(page: Page) -> list[Any]:
    found: list[Any] = page.evaluate("window.shown.map(({title, body, tag}) => ({title, body, tag}))")
    return found


def test_who_allowed_them_is_told_once_a_message_comes_that_nobody_looks_at(
    quiet: Person, ben: Person, conversation: str, word: str
) -> None:
    allow(quiet)
    page = quiet.context.new_page()
    page.goto("/chat/")
    chat = ChatPage(page).wait()
    expect(page.locator("[data-notify]")).to_be_hidden()
    send(ben, conversation, f"looked at {word}")
    expect(page.locator("[data-row-last]").first).to_have_text(f"looked at {word}")
    assert shown(page) == []
    page.evaluate("hide(true)")
    send(ben, conversation, f"unseen {word}")
    expect(page.locator("[data-row-last]").first).to_have_text(f"unseen {word}")
    [told] = shown(page)
    assert (told["body"], told["tag"]) == (f"unseen {word}", conversation)
    assert "ben" in told["title"]
    page.evaluate("hide(false); window.shown[0].notification.dispatchEvent(new Event('click'))")
    expect(chat.message(f"unseen {word}")).to_be_visible()
    expect(page).to_have_url(f"{page.url.split('/chat/')[0]}/chat/{conversation}/")


def test_a_muted_conversation_tells_nothing(quiet: Person, ben: Person, conversation: str, word: str) -> None:
    allow(quiet)
    quiet.api.put(f"chat/conversations/{conversation}/mute", json={"muted": True}).raise_for_status()
    try:
        page = quiet.context.new_page()
        page.goto("/chat/")
        ChatPage(page).wait()
        page.evaluate("hide(true)")
        send(ben, conversation, f"muted {word}")
        expect(page.locator("[data-row-last]").first).to_have_text(f"muted {word}")
        assert shown(page) == []
    finally:
        quiet.api.put(f"chat/conversations/{conversation}/mute", json={"muted": False}).raise_for_status()


def test_who_refused_them_is_not_asked_again_and_told_nothing(
    quiet: Person, ben: Person, conversation: str, word: str
) -> None:
    refuse(quiet)
    page = quiet.context.new_page()
    page.goto("/chat/")
    ChatPage(page).wait()
    expect(page.locator("[data-notify]")).to_be_hidden()
    page.evaluate("hide(true)")
    send(ben, conversation, f"refused {word}")
    expect(page.locator("[data-row-last]").first).to_have_text(f"refused {word}")
    assert shown(page) == []


def test_nobody_is_asked_before_they_press_the_bell(quiet: Person, conversation: str) -> None:
    page = quiet.context.new_page()
    page.add_init_script("window.asked = 0; Notification.requestPermission = async () => { window.asked += 1; };")
    page.goto("/chat/")
    ChatPage(page).wait()
    bell = page.locator("[data-notify]")
    expect(bell).to_be_visible()
    assert page.evaluate("window.asked") == 0
    bell.click()
    assert page.evaluate("window.asked") == 1
