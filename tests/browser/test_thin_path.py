"""From signing in to the copied call, on the real model."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import read_spec, sign_in
from tests.browser.workbench import Workbench


def test_a_newcomer_writes_saves_runs_and_copies(
    open_context: Callable[..., BrowserContext], account: tuple[str, str], api: httpx2.Client
) -> None:
    page = open_context(signed_in=False, viewport={"width": 1440, "height": 900}).new_page()
    sign_in(page, *account)
    page.get_by_role("button", name="New prompt").first.click()
    page.get_by_role("dialog", name="New prompt").get_by_label("Name").fill("A rhyme about anything")
    page.keyboard.press("Enter")
    bench = Workbench(page).wait()
    expect(page.get_by_role("heading", name="A rhyme about anything")).to_be_visible()
    expect(bench.state).to_have_text("Not saved yet")

    bench.write(bench.system, "You answer in one short line.")
    bench.write(bench.text(), "Write about {{topic}}.")
    expect(bench.state).to_have_text("Unsaved")
    page.locator("[data-parameters] summary").first.click()
    page.get_by_label("Max tokens").fill("24")
    page.get_by_label("Temperature").fill("0")
    bench.save("First try")
    expect(bench.version).to_have_text("v1")
    expect(bench.state).to_have_text("Saved")
    expect(page.locator("#version-1")).to_contain_text("First try")
    assert read_spec(api, bench.prompt_id, 1) == {
        "model": "smollm2-135m-instruct",
        "max_tokens": 24,
        "temperature": 0,
        "system": "You answer in one short line.",
        "messages": [{"role": "user", "content": "Write about {{topic}}."}],
    }

    bench.write(bench.value("topic"), 'rain & "snow"')
    bench.run()
    answer = bench.wait_for_end()
    expect(bench.output).to_have_attribute("data-status", "succeeded")
    assert answer
    facts = page.locator("[data-output-meta]")
    expect(facts).to_contain_text("First token")
    expect(facts).to_contain_text("tokens/s")

    page.get_by_role("tab", name="Wire").click()
    expect(page.locator("[data-wire-request]")).to_contain_text('Write about rain & \\"snow\\".')
    expect(page.locator("[data-wire-response]")).to_contain_text('"stop_reason"')

    page.get_by_role("button", name="Get code").click()
    expect(page.locator("[data-code-text]")).to_contain_text("$ANTHROPIC_API_KEY")
    expect(page.locator("[data-code-text]")).to_contain_text("rain")
    page.get_by_role("tab", name="Python").click()
    expect(page.locator("[data-code-text]")).to_contain_text("import")
    expect(page.locator("[data-code-proof]")).to_contain_text("The same request as your last run of this version")
    page.get_by_label("Streaming").uncheck()
    expect(page.locator("[data-code-proof]")).to_contain_text("only one of them streams")
    page.get_by_role("tab", name="Run by label").click()
    expect(page.locator("[data-code-text]")).to_contain_text("$PLAYGROUND_API_KEY")
    page.keyboard.press("Escape")
    expect(page.locator("#code")).to_be_hidden()


def test_stopping_keeps_what_had_arrived(page: Page, make_prompt: Callable[..., str], api: httpx2.Client) -> None:
    bench = Workbench(page).open(make_prompt("Count from 1 to 500.", max_tokens=1500, temperature=0))
    bench.run()
    expect(bench.answer).not_to_be_empty()
    page.get_by_role("button", name="Stop").click()
    kept = bench.wait_for_end()
    expect(bench.output).to_have_attribute("data-status", "cancelled")
    expect(page.locator("[data-output-problem]")).to_contain_text("kept above")
    run = api.get(f"runs/{bench.run_id}").json()
    assert (run["status"], run["output"]) == ("cancelled", kept)
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_refresh_in_the_middle_of_a_run_shows_every_token(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("Tell a long story.", max_tokens=200, temperature=0))
    bench.run()
    expect(bench.answer).not_to_be_empty()
    page.reload()
    bench.wait()
    expect(bench.answer).not_to_be_empty()
    shown = bench.wait_for_end()
    run = api.get(f"runs/{bench.run_id}").json()
    assert (run["status"], run["output"]) == ("succeeded", shown)
    page.reload()
    assert bench.wait().wait_for_end() == shown


def test_a_run_opens_from_the_list_of_runs(page: Page, make_prompt: Callable[..., str]) -> None:
    bench = Workbench(page).open(make_prompt("Say yes.", name="Opened from the list", max_tokens=5))
    bench.run()
    shown = bench.wait_for_end()
    page.goto("/runs/")
    page.get_by_role("link", name="Opened from the list").first.click()
    expect(page).to_have_url(re.compile(r"/versions/1/\?run="))
    assert bench.wait().wait_for_end() == shown


def test_the_keyboard_is_enough(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("n")
    page.keyboard.type("Only keys")
    page.keyboard.press("Enter")
    bench = Workbench(page).wait()
    bench.text().focus()
    page.keyboard.type("Say {{word}}.")
    expect(bench.value("word")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(bench.value("word")).to_be_focused()
    page.keyboard.type("yes")
    page.keyboard.press("Control+s")
    page.keyboard.press("Enter")
    expect(bench.version).to_have_text("v1")
    page.keyboard.press("Control+Enter")
    expect(bench.answer).not_to_be_empty()
    page.get_by_role("button", name="Stop").focus()
    page.keyboard.press("Enter")
    bench.wait_for_end()
    # Searched for, since other tests make prompts at the same time.
    page.goto("/?q=Only+keys")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Only keys").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of this page")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_running_unsaved_text_saves_it_first(page: Page, make_prompt: Callable[..., str], api: httpx2.Client) -> None:
    bench = Workbench(page).open(make_prompt("Say yes", max_tokens=5))
    bench.write(bench.text(), " twice.")
    bench.run()
    expect(bench.version).to_have_text("v2")
    expect(page.locator("[data-toast]")).to_contain_text("Saved as version 2")
    bench.wait_for_end()
    assert read_spec(api, bench.prompt_id, 2)["messages"][0]["content"] == "Say yes twice."


def test_a_key_leads_from_pane_to_pane_and_back_to_where_one_was(page: Page, make_prompt: Callable[..., str]) -> None:
    bench = Workbench(page).open(make_prompt("Hello"))
    in_pane = "(name) => document.querySelector(`.pane-${name}`).contains(document.activeElement)"
    bench.text().click()
    for key, pane in (("F6", "output"), ("F6", "history"), ("Shift+F6", "output"), ("Shift+F6", "editor")):
        page.keyboard.press(key)
        assert page.evaluate(in_pane, pane), (key, pane)
    page.keyboard.type("x")
    expect(bench.text()).to_contain_text("x")
