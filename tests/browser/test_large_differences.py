"""Differences of texts of many megabytes: shown in the browser in a few seconds, or said to be too large."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.conftest import read_spec, save_version
from tests.browser.large_texts import MB, many_lines, send

#: The comparison itself is bounded to about four seconds; a machine that runs other tests beside this one gets more.
SHOWN_MS = 60_000
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
