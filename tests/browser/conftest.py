"""A real Chromium on the running application. Each test ends with the question whether any page complained."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    StorageState,
    expect,
    sync_playwright,
)

from tests.browser.live_accounts import PASSWORD, LiveAccount, LiveAccounts
from tests.services_plugin import Instance

ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
#: Built for this: it needs half of the processor time of the whole browser, which has windows that nobody sees.
SHELL = "chromium-headless-shell"
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


def find_chromium(*, names: Sequence[str] = (SHELL, *NAMES)) -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def driver() -> Iterator[Playwright]:
    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(driver: Playwright) -> Iterator[Browser]:
    with launched(driver, find_chromium()) as browser:
        yield browser


@contextmanager
def launched(driver: Playwright, path: str | None) -> Iterator[Browser]:
    if path is None:
        pytest.skip("no Chromium on the path: install one (Debian: apt-get install chromium) or set CHROMIUM")
    browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=LAUNCH_WITHIN_MS)
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


def new_context(chromium: Browser, address: str, complaints: Complaints, **options: Any) -> BrowserContext:
    """A browser of its own whose pages are watched. Nothing moves in it: what is clicked or judged stands still."""
    context = chromium.new_context(**{"base_url": address, "reduced_motion": "reduce", **options})
    context.set_default_timeout(WITHIN_MS)
    context.on("page", complaints.watch)
    return context


def sign_in(page: Page, email: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"^(?!.*/accounts/login/)"))


@pytest.fixture(scope="session")
def live_accounts(live_stack: Instance) -> Iterator[LiveAccounts]:
    made = LiveAccounts(live_stack)
    yield made
    made.close()


@pytest.fixture(scope="session")
def signed_in(live_accounts: LiveAccounts) -> LiveAccount:
    """The person of this worker's tests: tests of other workers change no list, key or setting under their hands."""
    return live_accounts.create("demo", shown_name="demo", tier="pro")


@pytest.fixture(scope="session")
def account(signed_in: LiveAccount) -> tuple[str, str]:
    """E-mail address and password."""
    return signed_in.email, PASSWORD


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
        opened.append(new_context(chromium, live_stack.base_url, complaints, storage_state=state, **options))
        return opened[-1]

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
