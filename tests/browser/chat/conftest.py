"""Two people, each in a browser of their own; accounts of one test alone, with a conversation that nobody else had."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Complaints, new_context
from tests.browser.live_accounts import LiveAccount, LiveAccounts
from tests.browser.talk import ChatPage, Person, start_conversation
from tests.services_plugin import Instance

Accounts = tuple[LiveAccount, LiveAccount]


@pytest.fixture
def accounts(live_accounts: LiveAccounts) -> Accounts:
    """A person has one device and opens 20 sockets a minute: what one test uses up is not missing in the next."""
    return live_accounts.create("ada"), live_accounts.create("ben")


Meet = Callable[..., Person]


@pytest.fixture
def meet(chromium: Browser, live_stack: Instance, complaints: Complaints) -> Iterator[Meet]:
    """`meet(account, **options)`: that person in a browser of their own."""
    met: list[Person] = []

    def open_one(account: LiveAccount, **options: Any) -> Person:
        given = {"viewport": {"width": 1280, "height": 800}, "storage_state": account.session, **options}
        context = new_context(chromium, live_stack.base_url, complaints, **given)
        met.append(Person(id=account.id, email=account.email, api=live_stack.api(account.key), context=context))
        return met[-1]

    yield open_one
    for person in met:
        person.context.close()
        person.api.close()


@pytest.fixture
def cleo(meet: Meet, live_accounts: LiveAccounts) -> Person:
    return meet(live_accounts.create("cleo"))


@pytest.fixture
def ada(meet: Meet, accounts: Accounts) -> Person:
    return meet(accounts[0])


@pytest.fixture
def ben(meet: Meet, accounts: Accounts) -> Person:
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
    """A word that no page shows by itself."""
    return f"word{uuid.uuid4().hex[:8]}"
