"""A version goes from the workbench into a chat: its card is drawn for who may read it, others ask for access there."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import MODEL, Complaints
from tests.browser.talk import ChatPage, Person, bodies, send

TEXT = "Answer as a lighthouse keeper would."


@pytest.fixture
def prompt(ada: Person) -> str:
    made = ada.api.post("prompts", json={"name": f"Keeper {uuid.uuid4().hex[:6]}"}).raise_for_status().json()["id"]
    spec = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": TEXT}]}
    ada.api.post(f"prompts/{made}/versions", json={"spec": spec}).raise_for_status()
    return str(made)


def send_from_workbench(page: Page, prompt: str, to: str, words: str) -> ChatPage:
    page.goto(f"/prompts/{prompt}/")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Send version in chat").click()
    expect(page.locator("[data-card]")).to_contain_text(TEXT)
    page.get_by_label("Words with it").fill(words)
    page.get_by_label("Name or e-mail address of the person").fill(to)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_label("Words with it")).to_have_value(words)
    page.get_by_label("People found").get_by_role("button", name="Send to").click()
    page.wait_for_url(re.compile(r"/chat/[0-9a-f-]{36}/"))
    return ChatPage(page).wait()


def card(chat: ChatPage, words: str) -> Locator:
    return chat.message(words).locator("[data-card]")


def test_from_the_workbench_to_the_other_ones_open_prompt(
    ada: Person, ben: Person, conversation: str, prompt: str, his: ChatPage, word: str, complaints: Complaints
) -> None:
    """Sent, not readable, asked for, given with one click, opened: two people, two browsers."""
    complaints.expect("404")
    hers = send_from_workbench(ada.context.new_page(), prompt, ben.email, f"see this {word}")
    expect(card(hers, word)).to_contain_text(TEXT)
    expect(card(hers, word)).to_contain_text("v1")
    expect(card(hers, word).get_by_role("link", name="Open")).to_be_in_viewport()
    theirs = card(his, word)
    expect(theirs).to_contain_text("You may not see this")
    expect(theirs).not_to_contain_text("Keeper")
    assert serious_violations(his.page) == []
    theirs.get_by_role("button", name="Ask for access").click()
    expect(theirs).to_contain_text("Asked")
    wish = hers.page.locator("[data-card='access_request']").last
    assert serious_violations(hers.page) == []
    wish.get_by_role("button", name="Give access").click()
    expect(wish).to_contain_text("Given")
    expect(wish.get_by_role("button")).to_have_count(0)
    his.page.reload()
    his.wait()
    expect(theirs).to_contain_text(TEXT)
    theirs.get_by_role("link", name="Open").click()
    his.page.wait_for_url(re.compile(f"/prompts/{prompt}/versions/1/"))
    expect(his.page.locator("[data-prompt-name]")).to_contain_text("Keeper")


def test_a_run_is_sent_from_beside_its_output(
    ada: Person, ben: Person, conversation: str, prompt: str, word: str
) -> None:
    run = ada.api.post(f"prompts/{prompt}/versions/1/runs", json={}).raise_for_status().json()["id"]
    page = ada.context.new_page()
    page.goto(f"/runs/{run}/")
    page.get_by_role("link", name="Send run in chat").click(timeout=90_000)
    expect(page.locator("[data-card]")).to_contain_text("Keeper", timeout=30_000)
    page.get_by_label("Words with it").fill(f"it ran {word}")
    page.get_by_label("Your conversations").get_by_role(
        "button", name=re.compile("Send to .*ben", re.IGNORECASE)
    ).click()
    chat = ChatPage(page).wait()
    expect(card(chat, word).get_by_role("link", name="Open the run")).to_be_visible()
    assert bodies(ben, conversation)[-1] == f"it ran {word}"


def test_a_card_without_words_is_named_where_there_is_no_room_for_it(
    ada: Person, ben: Person, conversation: str, his: ChatPage, complaints: Complaints
) -> None:
    complaints.expect("404")
    sent = send(ada, conversation, "", reference={"kind": "version", "id": str(uuid.uuid4())})
    expect(his.messages.last.locator("[data-card]")).to_contain_text("You may not see this, or it is gone.")
    expect(his.page.locator(f"[data-conversation='{conversation}'] [data-row-last]")).to_have_text(
        "A version of a prompt"
    )
    ada.api.delete(f"chat/messages/{sent['id']}").raise_for_status()
