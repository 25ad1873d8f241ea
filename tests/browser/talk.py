"""Two people in two browsers, for the tests of chat."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import httpx2
from playwright.sync_api import BrowserContext, Locator, Page, expect

SHOWN = "[data-message]"
WELCOME_WITHIN_MS = 45_000


@dataclass(frozen=True, kw_only=True)
class Person:
    """An account, its API, and its browser."""

    id: str
    email: str
    api: httpx2.Client
    context: BrowserContext


class ChatPage:
    """The page of one conversation as a person uses it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, conversation: str, query: str = "") -> ChatPage:
        self.page.goto(f"/chat/{conversation}/{query}")
        return self.wait()

    def wait(self) -> ChatPage:
        """Until the socket was welcomed: only then somebody is here."""
        expect(self.page.locator("html[data-chat='live']")).to_have_count(1, timeout=WELCOME_WITHIN_MS)
        return self

    @property
    def text(self) -> Locator:
        return self.page.locator("[data-composer-text]")

    @property
    def messages(self) -> Locator:
        return self.page.locator(SHOWN)

    @property
    def state(self) -> Locator:
        return self.page.locator("[data-chat-state]")

    def message(self, words: str) -> Locator:
        return self.page.locator(SHOWN, has_text=words)

    def say(self, words: str) -> None:
        self.text.fill(words)
        self.text.press("Enter")

    def mark(self, words: str) -> Locator:
        return self.message(words).locator("[data-mark]")

    def act(self, words: str, action: str) -> None:
        row = self.message(words)
        row.hover()
        row.get_by_role("button", name="Actions for this message").click()
        self.page.get_by_role("menuitem", name=action).click()


def start_conversation(one: Person, other: Person) -> str:
    answer = one.api.post("chat/conversations", json={"person": other.id}).raise_for_status()
    return str(answer.json()["id"])


def send(person: Person, conversation: str, body: str, **more: object) -> dict[str, object]:
    """A message by the API, as a program of that person would send it."""
    fields = {"client_msg_id": str(uuid.uuid4()), "body": body, **more}
    answer = person.api.post(f"chat/conversations/{conversation}/messages", json=fields).raise_for_status()
    sent: dict[str, object] = answer.json()
    return sent


def bodies(person: Person, conversation: str) -> list[str]:
    """What the server has, oldest first; a card without words, and what was deleted, have none."""
    rows = person.api.get(f"chat/conversations/{conversation}/messages").raise_for_status().json()["results"]
    return [row["body"] or "" for row in reversed(rows)]
