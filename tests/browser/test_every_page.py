"""Every page, light, dark and on a phone: no sideways scroll, no complaint, named controls. Pictures are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import Complaints
from tests.browser.pictures import take_picture
from tests.browser.workbench import Workbench

VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
OPEN_PAGES = {
    "landing": "/",
    "sign-in": "/accounts/login/",
    "sign-up": "/accounts/signup/",
    "reset": "/accounts/password/reset/",
    "missing": "/nowhere/",
}
OWN_PAGES = {
    "home": "/",
    "nothing-found": "/?q=zzzzzzzz",
    "archived": "/?state=archived",
    "trash": "/?state=trashed",
    "import": "/import/",
    "runs": "/runs/",
    "chat": "/chat/",
    "chat-new": "/chat/new/?q=nobody@example.com",
    "chat-search": "/chat/search/?q=zzzzzzzz",
    "account": "/account/",
    "keys": "/account/keys/",
    "sign-out": "/accounts/logout/",
    "password": "/accounts/password/change/",
    "foreign": "/prompts/00000000-0000-7000-8000-000000000000/",
}
LONG_NAME = "A name that somebody once pasted as a whole sentence and that nobody ever shortened " * 2
UNNAMED = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select")]
    .filter((element) => element.checkVisibility())
    .filter((element) => !(element.innerText || element.getAttribute("aria-label") || element.title
        || element.labels?.length || element.textContent.trim()))
    .map((element) => element.outerHTML.slice(0, 200))"""


def look(page: Page, name: str) -> None:
    take_picture(page, name)
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], f"{name} scrolls sideways: {width}"
    assert page.evaluate(UNNAMED) == []
    assert serious_violations(page) == [], name


@pytest.mark.parametrize("view", VIEWS)
def test_pages_before_signing_in(
    open_context: Callable[..., BrowserContext], complaints: Complaints, view: str
) -> None:
    complaints.expect(r"/nowhere/: .*status of 404")
    page = open_context(signed_in=False, **VIEWS[view]).new_page()
    for name, path in OPEN_PAGES.items():
        page.goto(path)
        look(page, f"{name}-{view}")


@pytest.mark.parametrize("view", VIEWS)
def test_pages_of_a_signed_in_person(
    open_context: Callable[..., BrowserContext], make_prompt: Callable[..., str], complaints: Complaints, view: str
) -> None:
    complaints.expect(r"/prompts/0.*status of 404")
    for given in (LONG_NAME[:190], "أجب دائمًا 🎉", "x" * 190):
        make_prompt("Say hello to {{name}}.", name=given)
    page = open_context(**VIEWS[view]).new_page()
    for name, path in OWN_PAGES.items():
        page.goto(path)
        look(page, f"{name}-{view}")


@pytest.mark.parametrize("view", VIEWS)
def test_a_workbench_full_of_difficult_text(
    open_context: Callable[..., BrowserContext], make_prompt: Callable[..., str], view: str
) -> None:
    rules = "\n".join(f"{number}. A rule that mentions {{{{tone}}}} and goes on for a while." for number in range(200))
    prompt = make_prompt(
        rules,
        name=LONG_NAME[:190],
        system="أجب دائمًا باللغة العربية 🎉 {{größe}}",
        stop_sequences=["\n\nHuman:", "</answer>"],
    )
    page = open_context(**VIEWS[view]).new_page()
    bench = Workbench(page).open(prompt)
    look(page, f"workbench-{view}")
    page.locator("[data-parameters] summary").first.click()
    look(page, f"workbench-parameters-{view}")
    bench.write(bench.value("tone"), "dry")
    bench.write(bench.value("größe"), "x" * 300)
    bench.run_all_the_same()
    page.locator("[data-run]").click()
    bench.wait_for_end()
    look(page, f"workbench-run-{view}")
    page.get_by_role("tab", name="Wire").click()
    expect(page.locator("[data-wire-request]")).not_to_be_empty()
    look(page, f"workbench-wire-{view}")
    page.get_by_role("button", name="Get code").click()
    expect(page.locator("[data-code-proof]")).to_contain_text("The same request")
    look(page, f"code-{view}")


def test_the_chosen_theme_stays(open_context: Callable[..., BrowserContext]) -> None:
    page = open_context(color_scheme="light").new_page()
    page.goto("/account/")
    page.get_by_role("button", name="Dark theme").click()
    page.goto("/runs/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
