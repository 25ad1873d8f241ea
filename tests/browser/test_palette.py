"""One field reaches everything: what a person does who never takes the hands off the keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.test_every_page import look
from tests.browser.workbench import Workbench


def test_the_palette_reaches_pages_prompts_versions_people_and_actions(
    page: Page, api: httpx2.Client, make_prompt: Callable[..., str]
) -> None:
    name = "Zebra crossing מעבר חצייה 🦓 " + "with a long name " * 6
    prompt = make_prompt("Hello {{name}}", name=name)
    api.put(f"prompts/{prompt}/labels/striped", json={"version": 1}).raise_for_status()
    field, options = page.locator("[data-palette-field]"), page.locator("[data-palette-list] [role=option]")

    page.goto("/runs/")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("api ke")
    expect(options.first).to_contain_text("API keys")
    page.keyboard.press("Enter")
    page.wait_for_url("**/account/keys/")

    page.keyboard.press("Control+k")
    page.keyboard.type("zebra crossing")
    expect(options.filter(has_text="Zebra crossing").first).to_be_visible()
    look(page, "palette")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/prompts/{prompt}/")

    bench = Workbench(page).wait()
    page.keyboard.press("Control+k")
    page.keyboard.type("striped")
    expect(options.first).to_contain_text("label, v1")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/prompts/{prompt}/versions/1/")
    bench.wait()

    page.keyboard.press("Control+k")
    page.keyboard.type("get code")
    expect(options.first).to_contain_text("Get code")
    page.keyboard.press("Enter")
    expect(page.locator("#code")).to_be_visible()
    expect(page.locator("[data-palette]")).to_be_hidden()
    page.keyboard.press("Escape")

    page.keyboard.press("Control+k")
    page.keyboard.type("nothing fits this zzz")
    expect(page.locator("[data-palette-note]")).to_contain_text(re.compile("Nothing fits"))
    page.keyboard.press("Escape")
    expect(page.locator("[data-palette]")).to_be_hidden()


def test_an_arrow_moves_and_a_word_being_composed_fires_nothing(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    options = page.locator("[data-palette-list] [role=option]")
    expect(options.nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    field = page.locator("[data-palette-field]")
    expect(field).to_have_attribute("aria-activedescendant", "palette-1")
    field.evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    expect(page.locator("[data-palette]")).to_be_visible()
