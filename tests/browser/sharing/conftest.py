"""The owner of a prompt, somebody it is shared with, somebody without an account: each in a browser of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState

from tests.browser.conftest import Complaints, new_context
from tests.browser.live_accounts import PASSWORD, LiveAccount, LiveAccounts
from tests.browser.sharing.shared_page import SharedPage
from tests.services_plugin import Instance

WIDE = {"viewport": {"width": 1440, "height": 900}}
Open = Callable[..., BrowserContext]


@pytest.fixture(scope="session")
def friend_account(live_accounts: LiveAccounts) -> LiveAccount:
    return live_accounts.create("reviewer", shown_name="reviewer", tier="pro")


@pytest.fixture(scope="session")
def friend(friend_account: LiveAccount) -> tuple[str, str]:
    """E-mail address and password of the second person."""
    return friend_account.email, PASSWORD


@pytest.fixture(scope="session")
def friend_session(friend_account: LiveAccount) -> StorageState:
    return friend_account.session


@pytest.fixture
def open_friend(
    chromium: Browser, live_stack: Instance, friend_session: StorageState, complaints: Complaints
) -> Iterator[Open]:
    """`open_friend(**options)`: a browser in which the second person is signed in."""
    opened: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        given = {**WIDE, "storage_state": friend_session, **options}
        opened.append(new_context(chromium, live_stack.base_url, complaints, **given))
        return opened[-1]

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def friend_page(open_friend: Open) -> Page:
    return open_friend().new_page()


@pytest.fixture
def visit(open_context: Open, complaints: Complaints) -> Callable[..., SharedPage]:
    """`visit(url, password=...)`: somebody without an account opens a link."""

    def open_link(url: str, *, password: str = "", **options: Any) -> SharedPage:
        context = open_context(signed_in=False, **{**WIDE, **options})
        # A page that may no longer be shown finds that out by being refused.
        complaints.expect(r"/s/.*status of (404|400)")
        return SharedPage(context.new_page()).open(url, password=password)

    return open_link


@pytest.fixture
def named(make_prompt: Callable[..., str]) -> Callable[..., tuple[str, str]]:
    """`named("what", content)`: the id and the name of a new prompt that no other test uses."""

    def make(what: str, content: str = "Say hello to {{name}}.", **fields: Any) -> tuple[str, str]:
        name = f"{what} {uuid.uuid4().hex[:8]}"
        return make_prompt(content, name=name, **fields), name

    return make
