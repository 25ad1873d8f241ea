"""Versions, models and parameters side by side, on the real model."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
from playwright.sync_api import Page, expect

from tests.browser.columns import Columns
from tests.browser.conftest import MODEL, Complaints, read_spec, save_version
from tests.browser.workbench import Workbench


def test_two_columns_are_run_three_times_compared_and_one_is_kept(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    prompt = make_prompt("Say hello to {{name}}.", name="Side by side", max_tokens=12, temperature=1)
    first = read_spec(api, prompt, 1)
    save_version(api, prompt, {**first, "messages": [{"role": "user", "content": "Greet {{name}} in {{language}}."}]})
    Workbench(page).open(prompt)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Compare runs").click()
    columns = Columns(page).wait()
    expect(columns.column("A").get_by_label("Version of column A")).to_have_value("1")
    expect(columns.column("B").get_by_label("Version of column B")).to_have_value("2")

    # What both versions name is asked for once, and nothing is run without it.
    page.keyboard.press("r")
    expect(page.locator("[data-toast]")).to_contain_text("name, language")
    page.get_by_label("Value of name").click()
    page.keyboard.insert_text("Ada")
    page.get_by_label("Value of language").click()
    page.keyboard.insert_text("one word")
    columns.field("A", "Temperature").fill("0")
    expect(columns.column("A").locator("[data-column-sentence]")).to_contain_text("temperature 0")
    page.get_by_label("Repetitions of each column").fill("3")
    page.get_by_label("Repetitions of each column").press("Tab")
    # What is set up and not yet run outlives a reload.
    page.reload()
    columns.wait()
    expect(columns.column("A").locator("[data-column-sentence]")).to_contain_text("temperature 0")
    expect(page.get_by_label("Repetitions of each column")).to_have_value("3")
    expect(page.get_by_label("Value of language")).to_have_text("one word")
    # What it takes is told before; what does not fit, too, and asked about.
    for letter in "AB":
        expect(columns.column(letter).locator("[data-estimate-facts]")).to_contain_text("at most 12 out")
    expect(page.locator("[data-board-size]")).to_contain_text("6 runs")
    columns.field("B", "Max tokens").fill("900000")
    expect(columns.column("B").locator("[data-estimate-warning]")).to_contain_text("900,000")
    page.get_by_role("button", name="Run all").click()
    question = page.get_by_role("dialog", name="Run this all the same?")
    expect(question).to_contain_text(re.compile("Column B: The prompt leaves .* for the answer"))
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(columns.board).to_have_text("Not run yet")
    columns.field("B", "Max tokens").fill("")
    expect(columns.column("B").locator("[data-estimate-warning]")).to_be_hidden()
    page.get_by_role("button", name="Run all").click()
    expect(page).to_have_url(re.compile(r"/columns/[0-9a-f-]{36}/"))
    columns.wait_for_end()
    for letter in "AB":
        expect(columns.state(letter)).to_have_text("Done")
        expect(columns.column(letter).locator(".answer-mark")).to_have_count(3)
        expect(columns.column(letter).locator("[data-column-spread]")).to_contain_text("Tokens out")
    # The same request at temperature 0 has the same answer.
    expect(columns.column("A")).to_contain_text("All 3 answers are the same")
    told = api.get(f"comparisons/{columns.comparison_id}").json()
    assert told["counts"] == {"succeeded": 6}
    request = api.get(f"runs/{told['columns'][0]['runs'][2]['id']}").json()["wire_request"]
    assert (request["temperature"], request["messages"][0]["content"]) == (0, "Say hello to Ada.")

    last = [run["id"] for column in told["columns"] for run in column["runs"] if run["repetition"] == 2]
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(page.locator("[data-answer-place]")).to_have_text("Answer 3 of 3")
    for letter, run in zip("AB", last, strict=True):
        expect(columns.column(letter).get_by_role("link", name="Open run")).to_have_attribute("href", f"/runs/{run}/")
    page.reload()
    columns.wait()
    expect(columns.answer("B")).not_to_be_empty()
    expect(columns.board).to_have_text("Done")

    columns.column("A").focus()
    page.keyboard.press("k")
    keep = page.get_by_role("dialog", name="Keep as a version")
    expect(keep.get_by_label("What changed")).to_have_value("Change temperature 1 → 0")
    page.keyboard.press("Enter")
    expect(page.locator("[data-notices]")).to_contain_text("Kept as version 3")
    kept = api.get(f"prompts/{prompt}/versions/3", params={"include": "texts"}).json()
    assert (kept["parent"], kept["spec"]) == (1, {**first, "temperature": 0})
    expect(columns.column("A").get_by_label("Version of column A")).to_have_value("3")


def test_stopped_columns_keep_their_text_and_run_again(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("comparisons: .*400")
    prompt = make_prompt("Count from 1 to 500.", name="Stopped in columns", max_tokens=1500, temperature=0)
    page.goto(f"/prompts/{prompt}/compare/?from=1&to=1")
    page.get_by_role("link", name="Compare runs").click()
    columns = Columns(page).wait()
    page.keyboard.press("Control+Enter")
    expect(columns.answer("A")).not_to_be_empty()
    expect(columns.answer("B")).not_to_be_empty()
    page.keyboard.press("Escape")
    columns.wait_for_end()
    for letter in "AB":
        expect(columns.state(letter)).to_have_text("Stopped")
        expect(columns.column(letter).locator("[data-column-notice]")).to_contain_text("kept above")
    # Without marks, which show words of the other answer, too.
    page.keyboard.press("d")
    runs = [column["runs"][0] for column in api.get(f"comparisons/{columns.comparison_id}").json()["columns"]]
    for letter, run in zip("AB", runs, strict=True):
        assert columns.answer(letter).text_content() == api.get(f"runs/{run['id']}").json()["output"]
    page.keyboard.press("d")
    # A model that does not exist fails its own column, at its own field, before anything is run.
    columns.field("B", "Model").fill("no-such-model")
    page.get_by_role("button", name="Run all").click()
    expect(columns.column("B").locator("[data-field-error]", has_text="no-such-model")).to_be_visible()
    columns.field("B", "Model").fill(MODEL)
    columns.field("B", "Max tokens").fill("5")
    columns.field("A", "Max tokens").fill("5")
    page.get_by_role("button", name="Run all").click()
    columns.wait_for_end()
    expect(columns.column("B")).to_contain_text("The same answer as A")
