"""Differences of texts of many megabytes: shown in the browser in a few seconds, or said to be too large."""

from __future__ import annotations

import random
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.conftest import Complaints, read_spec, save_version
from tests.browser.large_texts import MB, many_lines, read_text, send
from tests.browser.workbench import Workbench

pytestmark = pytest.mark.long

#: The comparison itself is bounded to about four seconds; a machine that runs other tests beside this one gets more.
SHOWN_MS = 60_000
#: Keeps all that the progress of the save dialog says: a fast machine says some of it for an instant only.
LISTEN = """() => {
    const box = document.querySelector("[data-save-progress]");
    window.said = [];
    new MutationObserver(() => window.said.push(box.textContent)).observe(box, {
        childList: true, characterData: true, subtree: true,
    });
}"""
Make = Callable[..., str]
Note = Callable[[str, Any], None]


def _save_text(api: httpx2.Client, prompt: str, data: bytes) -> None:
    spec = read_spec(api, prompt, 1)
    spec["messages"] = [{"role": "user", "content": {"upload": send(api, prompt, data)}}]
    save_version(api, prompt, spec)


def test_three_edits_in_twenty_megabytes_are_found_and_shown(
    page: Page, api: httpx2.Client, make_prompt: Make, record_testsuite_property: Note
) -> None:
    prompt = make_prompt("short")
    before = many_lines(20 * MB)
    lines = before.split(b"\n")
    lines[10] += b" and then some"
    lines.insert(len(lines) // 2, b"a line of its own")
    del lines[-5]
    _save_text(api, prompt, before)
    _save_text(api, prompt, b"\n".join(lines))
    page.goto(f"/prompts/{prompt}/compare/?from=2&to=3")
    expect(page.locator("[data-change-count]")).to_have_text("3 changes", timeout=SHOWN_MS)
    record_testsuite_property("difference_of_20_mb_ms", round(page.evaluate("performance.now()")))
    expect(page.locator("ins").filter(has_text="and then some")).to_be_visible()
    expect(page.locator(".diff-side.is-added", has_text="a line of its own")).to_be_visible()
    assert page.locator("*").count() < 2000


def test_twenty_megabytes_in_another_order_are_too_much_and_that_is_said(
    page: Page, api: httpx2.Client, make_prompt: Make
) -> None:
    prompt = make_prompt("short")
    lines = many_lines(20 * MB).split(b"\n")
    _save_text(api, prompt, b"\n".join(lines))
    random.Random(1).shuffle(lines)
    _save_text(api, prompt, b"\n".join(lines))
    page.goto(f"/prompts/{prompt}/compare/?from=2&to=3")
    expect(page.locator(".diff-note")).to_contain_text("Too large", timeout=SHOWN_MS)
    assert page.locator("*").count() < 2000


class Edited:
    """The workbench with a saved text of 20 MB in its editor, one character more typed at its very beginning."""

    def __init__(self, page: Page, prompt: str) -> None:
        self.page = page
        self.announced: list[str] = []
        self.parts: list[str] = []
        self.bench = Workbench(page).open(prompt)
        page.on("request", self._note)
        page.get_by_role("button", name=re.compile("^Edit 20")).click()
        expect(page.locator(".slot-editor.is-large")).to_be_visible(timeout=SHOWN_MS)
        self.bench.text().click()
        page.keyboard.press("Control+Home")
        page.keyboard.type("X")
        page.evaluate(LISTEN)
        page.keyboard.press("Control+s")
        expect(page.get_by_label("What changed")).to_be_focused()

    def _note(self, request: Request) -> None:
        if request.method == "POST" and re.search(r"/uploads$", request.url):
            self.announced.append(request.url)
        if request.method == "PUT" and "/staging/" in request.url:
            self.parts.append(urllib.parse.urlsplit(request.url).query.partition("partNumber=")[2][:1])

    def was_saved_and_sent_once(self, api: httpx2.Client, prompt: str, text: bytes) -> None:
        expect(self.bench.version).to_have_text("v3", timeout=SHOWN_MS)
        assert read_text(api, prompt, 3) == text
        assert len(self.announced) == 1
        assert sorted(self.parts) == ["1", "2", "3"]


@pytest.fixture
def twenty_megabytes(api: httpx2.Client, make_prompt: Make) -> tuple[str, bytes]:
    """A prompt whose version 2 is a text of 20 MB, and the text."""
    prompt, data = make_prompt("short"), many_lines(20 * MB)
    _save_text(api, prompt, data)
    return prompt, data


def test_an_edited_text_of_twenty_megabytes_is_compared_before_it_is_saved_and_sent_once(
    page: Page, api: httpx2.Client, twenty_megabytes: tuple[str, bytes]
) -> None:
    prompt, data = twenty_megabytes
    edited = Edited(page, prompt)
    expect(page.locator("[data-save-diff] ins")).to_contain_text("X", timeout=SHOWN_MS)
    expect(page.locator("[data-save-progress]")).to_be_hidden()
    assert re.search(r"Sending 20 MB to compare it … \d+ %", page.evaluate("window.said.join('|')"))
    expect(page.locator("[data-save-changes]")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#save")).to_be_hidden(timeout=SHOWN_MS)
    edited.was_saved_and_sent_once(api, prompt, b"X" + data)


def test_a_save_need_not_wait_for_the_difference_and_sends_nothing_twice(
    page: Page, api: httpx2.Client, twenty_megabytes: tuple[str, bytes]
) -> None:
    prompt, data = twenty_megabytes
    edited = Edited(page, prompt)
    page.keyboard.press("Enter")
    expect(page.locator("#save")).to_be_hidden(timeout=SHOWN_MS)
    edited.was_saved_and_sent_once(api, prompt, b"X" + data)


def test_what_was_sent_for_a_dialog_that_was_closed_serves_the_next_one(
    page: Page, api: httpx2.Client, twenty_megabytes: tuple[str, bytes]
) -> None:
    prompt, data = twenty_megabytes
    edited = Edited(page, prompt)
    page.keyboard.press("Escape")
    expect(page.locator("#save")).to_be_hidden()
    page.keyboard.press("Control+s")
    expect(page.locator("[data-save-diff] ins")).to_contain_text("X", timeout=SHOWN_MS)
    page.keyboard.press("Enter")
    edited.was_saved_and_sent_once(api, prompt, b"X" + data)


def test_without_a_connection_the_words_stay_and_it_is_said_why_there_is_no_difference(
    page: Page, twenty_megabytes: tuple[str, bytes], complaints: Complaints
) -> None:
    prompt, _ = twenty_megabytes
    complaints.expect("Failed to load resource")

    def cut(route: Route) -> None:
        route.abort("internetdisconnected")

    page.route("**/staging/**", cut)
    Edited(page, prompt)
    expect(page.locator("[data-save-progress]")).to_contain_text("The connection was cut", timeout=SHOWN_MS)
    expect(page.locator("[data-save-changes]")).to_contain_text("message 1 changed")
    page.unroute("**/staging/**", cut)
    expect(page.locator("[data-save-diff] ins")).to_contain_text("X", timeout=SHOWN_MS)


def test_a_comparison_that_fails_says_so_and_leaves_the_words(
    page: Page, api: httpx2.Client, make_prompt: Make, complaints: Complaints
) -> None:
    complaints.expect("Failed to load resource")
    bench = Workbench(page).open(make_prompt("short"))
    page.route("**/diff", lambda route: route.abort("internetdisconnected"))
    bench.write(bench.text(), " and more")
    page.keyboard.press("Control+s")
    expect(page.locator("[data-save-progress]")).to_contain_text("The difference cannot be shown.")
    expect(page.locator("[data-save-progress]")).to_contain_text("The server cannot be reached.")
    expect(page.locator("[data-save-changes]")).to_contain_text("message 1 9 characters longer")
    page.keyboard.press("Enter")
    expect(bench.version).to_have_text("v2")
