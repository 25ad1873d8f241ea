"""Every page of sharing with difficult content, light, dark and on a phone. Pictures are kept."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import MODEL, Complaints, save_version
from tests.browser.large_texts import MB, many_lines, send
from tests.browser.pictures import take_picture
from tests.browser.sharing.shared_page import ShareDialog
from tests.browser.test_every_page import LONG_NAME, VIEWS, look
from tests.browser.workbench import Workbench

Open = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def difficult(api: httpx2.Client, friend: tuple[str, str]) -> tuple[str, str, str]:
    """The id of a prompt with difficult texts and all kinds of links; the addresses of an open and of a guarded one."""
    name = f"{LONG_NAME[:120]} 🎉 מילים בעברית"
    prompt = str(api.post("prompts", json={"name": name, "description": "About <b>it</b> " * 30}).json()["id"])
    upload = send(api, prompt, many_lines(2 * MB))
    spec = {
        "model": MODEL,
        "max_tokens": 64,
        "temperature": 0.3,
        "stop_sequences": ["\n\nHuman:", "</answer>"],
        "system": "أجب دائمًا باللغة العربية 🎉 {{größe}}",
        "messages": [
            {"role": "user", "content": {"upload": upload}},
            {"role": "assistant", "content": "x" * 600},
            {"role": "user", "content": "Look at {{picture}} and say what it shows. " * 20},
        ],
        "variables": [{"name": "größe", "type": "text", "default": "", "description": "Long words " * 40}],
    }
    save_version(api, prompt, spec, message="What changed, at length. " * 12)
    api.post(f"prompts/{prompt}/grants", json={"account": friend[0], "role": "viewer"}).raise_for_status()
    kinds: list[dict[str, object]] = [
        {"audience": "signed_in", "target": {"branch": "main"}, "note": "For everybody in the team 🎉 " * 6},
        {"audience": "public", "target": {"version": 1}, "password": "open sesame", "max_views": 3},
        {"audience": "public", "target": {"version": 1}, "shows_history": True},
    ]
    urls = [api.post(f"prompts/{prompt}/links", json=kind).raise_for_status().json()["url"] for kind in kinds]
    return prompt, urls[2], urls[1]


@pytest.mark.parametrize("view", VIEWS)
def test_pages_of_who_shares(open_context: Open, difficult: tuple[str, str, str], view: str) -> None:
    prompt, _, _ = difficult
    page = open_context(**VIEWS[view]).new_page()
    for name, path in {"shares": "/shares/", "inbox": "/notifications/", "log": f"/prompts/{prompt}/access/"}.items():
        page.goto(path)
        look(page, f"{name}-{view}")
    Workbench(page).open(prompt)
    look(page, f"workbench-shared-{view}")
    dialog = ShareDialog(page).open()
    look(page, f"share-person-{view}")
    dialog.make_link(history="yes")
    dialog.dialog.get_by_role("button", name="QR code").click()
    dialog.wait_for_code()
    look(page, f"share-made-{view}")
    dialog.links.first.get_by_role("button", name="Change").click()
    look(page, f"share-change-{view}")
    dialog.links.first.get_by_role("button", name="Revoke").click()
    look(page, f"revoke-{view}")
    page.locator("[data-revoke-confirm]").click()
    expect(page.locator("[data-revoke-moment]")).to_be_visible()
    look(page, f"revoked-{view}")


@pytest.mark.parametrize("view", VIEWS)
def test_pages_of_who_it_is_shared_with(open_friend: Open, difficult: tuple[str, str, str], view: str) -> None:
    prompt, _, _ = difficult
    page = open_friend(**VIEWS[view]).new_page()
    for name, path in {"home-shared": "/", "with-me": "/shared/", "inbox-new": "/notifications/"}.items():
        page.goto(path)
        look(page, f"{name}-{view}")
    Workbench(page).open(prompt)
    expect(page.get_by_text("Read only", exact=True)).to_be_attached()
    look(page, f"workbench-viewer-{view}")


@pytest.mark.parametrize("view", VIEWS)
def test_pages_of_a_link(
    open_context: Open, difficult: tuple[str, str, str], complaints: Complaints, view: str
) -> None:
    _, url, guarded = difficult
    complaints.expect(r"/s/.*status of (400|404)")
    page = open_context(signed_in=False, **VIEWS[view]).new_page()
    page.goto("/s/psl_nothing-is-here")
    look(page, f"link-nothing-{view}")
    page.goto(guarded)
    page.get_by_label("Password of this link").fill("guess")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    look(page, f"link-password-{view}")
    page.goto(url)
    look(page, f"link-landing-{view}")
    page.get_by_role("button", name="Open the prompt").click()
    expect(page.locator("[data-reader-place]")).to_contain_text("line 1 of")
    look(page, f"link-open-{view}")
    see_all(page, f"link-open-whole-{view}")
    page.get_by_text("Show the call").click()
    expect(page.locator("[data-snippet-text]")).not_to_be_empty()
    look(page, f"link-code-{view}")


def see_all(page: Page, name: str) -> None:
    take_picture(page, name, full_page=True)
