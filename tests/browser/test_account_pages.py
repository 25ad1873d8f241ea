"""Signing up, signing out, API keys."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.services_plugin import Instance


def test_a_stranger_signs_up_and_out(open_context: Callable[..., BrowserContext], complaints: Complaints) -> None:
    # The page that is left may still be asking what is unread while its session ends.
    complaints.expect(r"/api/v1/chat/unread: .*status of 401")
    page = open_context(signed_in=False).new_page()
    page.goto("/")
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Email").fill(f"new-{uuid.uuid4().hex}@example.com")
    page.get_by_label("Password", exact=True).fill("a long enough pass phrase 9")
    page.get_by_label("Password (again)").fill("a long enough pass phrase 9")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="Your first prompt")).to_be_visible()
    page.goto("/account/")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Create an account")).to_be_visible()


def test_a_wrong_password_is_said_and_the_address_stays(open_context: Callable[..., BrowserContext]) -> None:
    page = open_context(signed_in=False).new_page()
    page.goto("/accounts/login/?next=/runs/")
    address = f"nobody-{uuid.uuid4().hex}@example.com"
    page.get_by_label("Email").fill(address)
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not correct")
    expect(page.get_by_label("Email")).to_have_value(address)


def test_a_page_of_ones_own_asks_to_sign_in_and_leads_back(
    open_context: Callable[..., BrowserContext], account: tuple[str, str]
) -> None:
    page = open_context(signed_in=False).new_page()
    page.goto("/account/keys/")
    page.get_by_label("Email").fill(account[0])
    page.get_by_label("Password").fill(account[1])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/account/keys/$"))


def test_a_key_is_shown_once_works_and_is_revoked(page: Page, live_stack: Instance) -> None:
    name = f"Key {uuid.uuid4().hex[:8]}"
    page.goto("/account/keys/")
    page.get_by_role("button", name="New key").first.click()
    page.get_by_label("Name").fill(name)
    page.keyboard.press("Enter")
    shown = page.locator("[data-key-text]")
    expect(shown).not_to_be_empty()
    key = shown.text_content() or ""
    page.keyboard.press("Escape")
    expect(shown).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(name, exact=True)).to_be_visible()
    assert key not in page.content()

    def answer() -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx2.get(f"{live_stack.base_url}/api/v1/me", headers=headers, timeout=60).status_code

    assert answer() == 200
    page.get_by_role("button", name=f"Revoke {name}").click()
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()
    page.get_by_role("button", name="Revoke key", exact=True).click()
    expect(page.get_by_text(name, exact=True)).to_have_count(0)
    assert answer() == 401
