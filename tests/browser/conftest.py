"""A real Chromium on the running application. Each test ends with the question whether any page complained."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, StorageState, expect, sync_playwright

from tests.browser.live_accounts import LiveAccount, LiveAccounts
from tests.services_plugin import Instance

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: For an action and for what a page is expected to show: chosen for a machine on which all of this shares two cores.
WITHIN_MS = 45_000
LAUNCH_WITHIN_MS = 120_000
MODEL = "smollm2-135m-instruct"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on the path: install one (Debian: apt-get install chromium) or set CHROMIUM")
    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=LAUNCH_WITHIN_MS)
        yield browser
        browser.close()


class Complaints:
    """What the pages wrote to the console, threw or violated. `expect` names what a test provokes on purpose."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.expected: list[str] = []

    def watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.seen.append(f"{page.url}: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.seen.append(f"{message.location.get('url', '')}: {message.text}")

    def expect(self, pattern: str) -> None:
        self.expected.append(pattern)

    @property
    def unexpected(self) -> list[str]:
        return [line for line in self.seen if not any(re.search(pattern, line) for pattern in self.expected)]


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    found = Complaints()
    yield found
    assert found.unexpected == []


def sign_in(page: Page, email: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"^(?!.*/accounts/login/)"))


@pytest.fixture(scope="session")
def account(live_stack: Instance) -> tuple[str, str]:
    """E-mail address and password of the first demo account."""
    return next(iter(live_stack.accounts.items()))


@pytest.fixture(scope="session")
def live_accounts(live_stack: Instance) -> Iterator[LiveAccounts]:
    made = LiveAccounts(live_stack)
    yield made
    made.close()


@pytest.fixture(scope="session")
def signed_in(live_accounts: LiveAccounts, account: tuple[str, str]) -> LiveAccount:
    return live_accounts.of(account[0])


@pytest.fixture(scope="session")
def session(signed_in: LiveAccount) -> StorageState:
    """One session for all tests: signing in is rate-limited, as it should be."""
    return signed_in.session


@pytest.fixture
def open_context(
    chromium: Browser, live_stack: Instance, session: StorageState, complaints: Complaints
) -> Iterator[Callable[..., BrowserContext]]:
    """`open_context(signed_in=True, **options)`: a browser of its own, its pages watched."""
    opened: list[BrowserContext] = []

    def open_one(*, signed_in: bool = True, **options: Any) -> BrowserContext:
        state = session if signed_in else None
        context = chromium.new_context(base_url=live_stack.base_url, storage_state=state, **options)
        context.set_default_timeout(WITHIN_MS)
        context.on("page", complaints.watch)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def page(open_context: Callable[..., BrowserContext]) -> Page:
    return open_context(viewport={"width": 1440, "height": 900}).new_page()


@pytest.fixture(scope="session")
def api(live_stack: Instance, signed_in: LiveAccount) -> Iterator[httpx2.Client]:
    """The REST API as a program of the same person sees it."""
    with live_stack.api(signed_in.key) as client:
        yield client


@pytest.fixture
def make_prompt(api: httpx2.Client) -> Callable[..., str]:
    """`make_prompt(content, name=..., **spec)`: the id of a new prompt with one version."""

    def make(content: str, *, name: str = "Made for a test", **fields: Any) -> str:
        prompt = api.post("prompts", json={"name": name}).raise_for_status().json()["id"]
        spec = {"model": MODEL, "max_tokens": 24, "messages": [{"role": "user", "content": content}], **fields}
        save_version(api, prompt, spec)
        return str(prompt)

    return make


def save_version(api: httpx2.Client, prompt: str, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = api.post(f"prompts/{prompt}/versions", json={"spec": spec, **fields})
    assert answer.status_code == 201, answer.text
    saved: dict[str, Any] = answer.json()
    return saved


def read_spec(api: httpx2.Client, prompt: str, number: int) -> dict[str, Any]:
    answer = api.get(f"prompts/{prompt}/versions/{number}", params={"include": "texts"}).raise_for_status()
    spec: dict[str, Any] = answer.json()["spec"]
    return spec
