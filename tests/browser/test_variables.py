"""Variables as they are written, declared, renamed and filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import httpx2
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import read_spec
from tests.browser.pictures import take_picture
from tests.browser.workbench import Workbench
from tests.waiting import wait_until


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=name, exact=True)


def open_card(page: Page, name: str) -> Locator:
    variable = row(page, name)
    variable.get_by_role("button", name="Card", exact=True).click()
    return variable


def take_pictures(page: Page) -> None:
    """Of the panel with an open card: light, dark and as narrow as a phone, where nothing may hang over the edge."""
    for view, scheme, width in (("light", "light", 1440), ("dark", "dark", 1440), ("phone", "light", 390)):
        page.emulate_media(color_scheme=cast("Any", scheme))
        page.set_viewport_size({"width": width, "height": 900})
        take_picture(page, f"variables-{view}")
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], f"{view} scrolls sideways: {widths}"
    page.set_viewport_size({"width": 1440, "height": 900})


def kept(api: httpx2.Client, prompt: str) -> dict[str, str]:
    values: dict[str, str] = api.get(f"prompts/{prompt}/values/kept").raise_for_status().json()["values"]
    return values


def test_names_are_completed_declared_renamed_and_undone(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    cards = [{"name": "größe", "default": "5", "description": "In metres"}, {"name": "old"}]
    first = "Wie {{größe}}? {{a.b}} {{größe}}"
    bench = Workbench(page).open(make_prompt(first, system="Kurz. {{ größe }}", variables=cards))
    expect(bench.state).to_have_text("Saved")
    expect(page.get_by_role("list", name="Not variables")).to_contain_text("{{a.b}} is no variable name")
    expect(row(page, "old")).to_contain_text("in no text")

    # Written by keys alone: the popup follows the braces, Enter takes the name and closes them.
    bench.text().click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" {{gr")
    option = page.get_by_role("option", name="größe")
    expect(option).to_have_attribute("aria-selected", "true")
    # A popup that has only just appeared takes no key, so that nobody chooses what they have not seen.
    page.wait_for_timeout(150)
    page.keyboard.press("Enter")
    expect(bench.text()).to_have_text(f"{first} {{{{größe}}}}")
    page.keyboard.type(" {{topic}} {{open")
    expect(page.get_by_role("list", name="Not variables")).to_contain_text("{{open is not closed")
    expect(row(page, "topic")).to_contain_text("not declared")
    page.keyboard.press("Control+Backspace")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")

    row(page, "old").get_by_role("button", name="Remove").click()
    expect(row(page, "old")).to_have_count(0)
    expect(bench.state).to_have_text("Unsaved")
    bench.write(bench.value("größe"), "7")

    # One action for all texts; a taken or impossible name is refused with words.
    card = open_card(page, "größe")
    card.get_by_role("textbox", name="Name").fill("topic")
    card.get_by_role("button", name="Rename").click()
    expect(card).to_contain_text("There is already a variable topic")
    card.get_by_role("textbox", name="Name").fill("höhe in m")
    card.get_by_role("button", name="Rename").click()
    expect(card).to_contain_text("without blanks")
    take_pictures(page)
    name = card.get_by_role("textbox", name="Name")
    name.fill("composed")
    name.evaluate("""element => element.dispatchEvent(
        new KeyboardEvent("keydown", {key: "Enter", isComposing: true, bubbles: true, cancelable: true}))""")
    card.get_by_role("textbox", name="Name").fill("höhe")
    page.keyboard.press("Enter")
    expect(bench.system).to_have_text("Kurz. {{ höhe }}")
    expect(bench.text()).to_contain_text("Wie {{höhe}}? {{a.b}} {{höhe}} {{höhe}}")
    expect(bench.value("höhe")).to_have_text("7")
    expect(row(page, "größe")).to_have_count(0)

    # One step of undo in each text, and the card follows when no text has the new name any more.
    bench.text().click()
    page.keyboard.press("Control+z")
    expect(bench.text()).to_contain_text("Wie {{größe}}? {{a.b}} {{größe}} {{größe}}")
    bench.system.click()
    page.keyboard.press("Control+z")
    expect(row(page, "größe")).to_contain_text("In metres")
    page.keyboard.press("Control+y")
    bench.text().click()
    page.keyboard.press("Control+y")
    expect(row(page, "höhe")).to_contain_text("In metres")

    bench.save()
    expect(bench.version).to_have_text("v2")
    saved = read_spec(api, bench.prompt_id, 2)
    assert saved["variables"] == [{"name": "höhe", "type": "text", "default": "5", "description": "In metres"}]
    assert saved["system"] == "Kurz. {{ höhe }}"
    wait_until(lambda: kept(api, bench.prompt_id).get("höhe") == "7")


def test_undo_does_not_reach_behind_what_was_loaded(
    page: Page, open_context: Callable[..., BrowserContext], make_prompt: Callable[..., str]
) -> None:
    bench = Workbench(page).open(make_prompt("first {{a}}"))
    bench.write(bench.text(), " draft")
    expect(bench.draft).to_have_text("Saved draft")
    other = Workbench(open_context().new_page()).open(bench.prompt_id)
    expect(other.text()).to_have_text("first {{a}} draft")
    other.text().click()
    other.page.keyboard.press("Control+z")
    expect(other.text()).to_have_text("first {{a}} draft")
    # A window that is made narrow and wide again takes nothing away.
    other.write(other.value("a"), "typed")
    for width in (390, 700, 1440):
        other.page.set_viewport_size({"width": width, "height": 800})
    expect(other.value("a")).to_have_text("typed")
    expect(other.text()).to_have_text("first {{a}} draft")


def test_values_survive_and_come_back_from_a_past_run(
    page: Page, open_context: Callable[..., BrowserContext], make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    cards = [{"name": "data", "type": "json"}, {"name": "notes", "type": "file"}]
    bench = Workbench(page).open(make_prompt("{{data}} {{notes}} {{tone}}", max_tokens=2, variables=cards))
    bench.write(bench.value("data"), '{"a": 1')
    expect(row(page, "data")).to_contain_text("Not JSON yet")
    with page.expect_file_chooser() as chooser:
        row(page, "notes").get_by_role("button", name="Choose file").click()
    text = "línea 1\r\nline 2\n"
    chooser.value.set_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": text.encode()})
    expect(row(page, "notes")).to_contain_text("notes.txt · 17 bytes · 3 lines")
    row(page, "tone").get_by_role("button", name="Send empty text").click()
    bench.run()
    expect(page.locator("[data-toast]")).to_contain_text("The value of data cannot be sent")
    bench.write(bench.value("data"), "}")
    bench.run()
    bench.wait_for_end()
    first = {"data": '{"a": 1}', "notes": text, "tone": ""}
    wait_until(lambda: kept(api, bench.prompt_id) == first)

    # Another version, another device: the person's values are there, and what they change is kept.
    bench.write(bench.text(), "!")
    bench.save()
    expect(bench.version).to_have_text("v2")
    page.reload()
    bench.wait()
    expect(bench.value("data")).to_have_text('{"a": 1}')
    expect(row(page, "tone")).to_contain_text("empty text")
    other = Workbench(open_context().new_page()).open(bench.prompt_id, 1)
    expect(other.value("data")).to_have_text('{"a": 1}')
    other.value("data").fill("[2]")
    other.write(other.value("tone"), "warm")
    wait_until(lambda: kept(api, bench.prompt_id) == {**first, "data": "[2]", "tone": "warm"})

    # A past run fills them in with one click, and one more takes that back.
    other.page.get_by_role("button", name="From a run").click()
    other.page.get_by_role("dialog", name="Values of past runs").get_by_role("button").click()
    expect(other.value("data")).to_have_text('{"a": 1}')
    expect(row(other.page, "tone")).to_contain_text("empty text")
    other.page.get_by_role("button", name="Put mine back").click()
    expect(other.value("data")).to_have_text("[2]")
    expect(other.value("tone")).to_have_text("warm")
