"""Two people, each in a browser of their own; accounts of these tests alone."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, StorageState

from tests.browser.conftest import WITHIN_MS, Complaints
from tests.browser.talk import ChatPage, Person, new_key, start_conversation
from tests.services_plugin import Instance

PASSWORD = "correct horse battery 7"
Account = tuple[str, StorageState, httpx2.Client]


def sign_up(chromium: Browser, stack: Instance, name: str) -> Account:
    """A person has one device, and the demo account is in other tests' hands."""
    email = f"{name}-{uuid.uuid4().hex[:8]}@example.com"
    context = chromium.new_context(base_url=stack.base_url)
    page = context.new_page()
    page.goto("/accounts/signup/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password (again)").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    page.wait_for_url(re.compile(r"^(?!.*/accounts/signup/)"))
    state = context.storage_state()
    context.close()
    return email, state, stack.api(new_key(stack, email))


@pytest.fixture(scope="session")
def accounts(chromium: Browser, live_stack: Instance) -> Iterator[tuple[Account, Account]]:
    pair = sign_up(chromium, live_stack, "ada"), sign_up(chromium, live_stack, "ben")
    yield pair
    for _, _, client in pair:
        client.close()


Meet = Callable[..., Person]


@pytest.fixture
def meet(chromium: Browser, live_stack: Instance, complaints: Complaints) -> Iterator[Meet]:
    """`meet(account, **options)`: that person in a browser of their own."""
    opened: list[BrowserContext] = []

    def open_one(account: Account, **options: Any) -> Person:
        email, state, client = account
        given = {"viewport": {"width": 1280, "height": 800}, **options}
        context = chromium.new_context(base_url=live_stack.base_url, storage_state=state, **given)
        context.set_default_timeout(WITHIN_MS)
        context.on("page", complaints.watch)
        opened.append(context)
        me = client.get("me").raise_for_status().json()
        return Person(id=me["id"], email=email, api=client, context=context)

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture(scope="session")
def third_account(chromium: Browser, live_stack: Instance) -> Iterator[Account]:
    account = sign_up(chromium, live_stack, "cleo")
    yield account
    account[2].close()


@pytest.fixture
def cleo(meet: Meet, third_account: Account) -> Person:
    return meet(third_account)


@pytest.fixture
def ada(meet: Meet, accounts: tuple[Account, Account]) -> Person:
    return meet(accounts[0])


@pytest.fixture
def ben(meet: Meet, accounts: tuple[Account, Account]) -> Person:
    return meet(accounts[1])


@pytest.fixture
def conversation(ada: Person, ben: Person) -> str:
    return start_conversation(ada, ben)


@pytest.fixture
def hers(ada: Person, conversation: str) -> ChatPage:
    return ChatPage(ada.context.new_page()).open(conversation)


@pytest.fixture
def his(ben: Person, conversation: str) -> ChatPage:
    return ChatPage(ben.context.new_page()).open(conversation)


@pytest.fixture
def word() -> str:
    """A word that no other test uses: both people have one conversation, and it goes on."""
    return f"word{uuid.uuid4().hex[:8]}"
