"""Test cases and batches as a person uses them: typed or from a file, run against versions, looked at, taken away."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import MODEL, Complaints, save_version
from tests.browser.test_every_page import VIEWS, look
from tests.browser.workbench import Workbench

#: Some runs of the embedded model, one after the other, on a machine that does other things, too.
BATCH_WITHIN_MS = 180_000
READ_WITHIN_MS = 60_000
PASTE = """(text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
}"""


def cell(page: Page, row: int, column: int) -> Locator:
    return page.locator(f'.grid-cell[data-row="{row}"][data-column="{column}"]')


def choose(page: Page, button: Locator, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        button.click()
    chooser.value.set_files(file)
    expect(page.locator("#import-cases")).to_be_visible()


@pytest.fixture
def prompt(make_prompt: Callable[..., str], api: httpx2.Client) -> str:
    made = make_prompt("Greet {{name}}, {{tone}}.", name="Greetings 👋 تحية", max_tokens=4, temperature=0)
    spec = {"model": MODEL, "max_tokens": 4, "messages": [{"role": "user", "content": "Hi {{name}}! {{tone}}"}]}
    save_version(api, made, spec)
    return made


def type_cases(page: Page, api: httpx2.Client) -> str:
    """Cases typed, pasted, removed and brought back; the id they are kept under."""
    page.get_by_role("button", name="Type the first ones").click()
    page.wait_for_url(re.compile(r"/tests/[0-9a-f-]{36}/"))
    state, said = page.locator("[data-cases-state]"), page.locator("[data-cases-said]")
    expect(page.get_by_role("grid")).to_be_focused()
    for text, key in (("Ada", "Tab"), ("warm", "Tab"), ("Hello", "Enter")):
        page.keyboard.type(text)
        page.keyboard.press(key)
    page.evaluate(PASTE, 'שלום 🦄\t"two\nlines"\t\n<b>Grace</b> & "co"')
    expect(said).to_contain_text("Pasted 2 rows")
    page.keyboard.press("Control+Delete")
    expect(said).to_contain_text("Row 2 is removed")
    page.keyboard.press("Control+z")
    expect(said).to_contain_text("Undone: the removal of 1 row")
    expect(state).to_have_text("Saved")
    dataset = page.url.rstrip("/").rsplit("/", 1)[1]
    assert [(row["values"], row["expected"]) for row in rows_of(api, page)] == [
        ({"name": "Ada", "tone": "warm"}, "Hello"),
        ({"name": "שלום 🦄", "tone": "two\nlines"}, ""),
        ({"name": '<b>Grace</b> & "co"'}, None),
    ]
    return dataset


def start_batch(page: Page) -> None:
    page.get_by_role("link", name="New batch").click()
    pointers = page.locator("[data-version-pointer]")
    expect(pointers).to_have_count(1)
    page.get_by_role("button", name="Add a version").click()
    pointers.nth(1).select_option("1")
    checks = page.locator("[data-check-kinds]")
    checks.get_by_role("button", name="does not contain").click()
    page.keyboard.type("zzqx")
    checks.get_by_role("button", name="matches a pattern").click()
    page.keyboard.type("(")
    checks.get_by_role("button", name="similar to").click()
    page.locator(".check").nth(2).get_by_label("At least", exact=True).fill("0")
    expect(page.locator("[data-estimate-error]")).to_contain_text("Check 2")
    page.locator(".check").nth(1).get_by_label("Pattern", exact=True).fill("zzqx")
    expect(page.locator("[data-estimate-product]")).to_have_text("3 rows × 2 versions = 6 runs")
    expect(page.locator("[data-estimate-warnings]")).to_contain_text("1 row has no value for {{tone}}")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/batches/[0-9a-f-]{36}/"))


def test_typed_cases_run_against_two_versions_with_three_checks(
    page: Page,
    prompt: str,
    api: httpx2.Client,
    open_context: Callable[..., BrowserContext],
    complaints: Complaints,
    tmp_path: Path,
) -> None:
    complaints.expect(r"/batches/estimate: .*status of 400")
    Workbench(page).open(prompt)
    page.get_by_role("link", name="Tests").click()
    dataset = type_cases(page, api)
    start_batch(page)
    expect(page.locator("[data-batch-state]")).to_have_text("Finished", timeout=BATCH_WITHIN_MS)
    expect(page.locator("[data-batch-facts]")).to_contain_text("6 of 6")

    expect(cell(page, 0, 2)).to_contain_text("Failed")
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    side = page.locator("[data-side]")
    expect(side.locator(".panel-check")).to_have_text(
        [re.compile("passed"), re.compile("failed"), re.compile("passed")]
    )
    expect(side.get_by_role("link", name="Open the run")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(side.locator("[data-side-title]")).to_contain_text("Row 2")
    expect(side).to_contain_text("two\nlines")
    page.keyboard.press("Escape")
    expect(side).to_be_hidden()

    page.keyboard.press("f")
    page.locator("[data-filter-only]").select_option("error")
    count = page.locator("[data-filter-count]")
    expect(count).to_have_text("1 of 3 rows")
    expect(cell(page, 0, 2)).to_contain_text("tone")
    page.reload()
    expect(count).to_have_text("1 of 3 rows")
    page.locator("[data-filter-only]").select_option("")
    page.get_by_label("Search in cases and answers").fill("שלום")
    expect(count).to_have_text("1 of 3 rows")
    take_results(page, tmp_path)

    for view, options in VIEWS.items():
        other = open_context(**options).new_page()
        for name, path in {"batch": page.url, "cases": f"/prompts/{prompt}/tests/{dataset}/"}.items():
            other.goto(path)
            expect(cell(other, 0, 0)).to_contain_text("Ada" if name == "cases" else "name")
            look(other, f"{name}-{view}")


def take_results(page: Page, folder: Path) -> None:
    for name, file in (("Download as CSV", "results.csv"), ("Download as JSONL", "results.jsonl")):
        page.get_by_role("button", name="More actions").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=name).click()
        download.value.save_as(folder / file)
    with (folder / "results.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["name"] for row in rows] == ["Ada", "שלום 🦄", '<b>Grace</b> & "co"']
    assert rows[0]["v2 status"] == rows[0]["v1 status"] == "failed"
    found = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(found) == 3


def test_a_file_with_errors_is_told_by_its_rows_and_taken_in_without_them(
    page: Page, prompt: str, api: httpx2.Client, tmp_path: Path
) -> None:
    lines = ["\ufeffName;notes;expected;tone", *(f'Person {number};n;"a;b";dry' for number in range(2500))]
    lines[8] = "Person 7;too;few"
    file = tmp_path / "people & <others>.csv"
    file.write_text("\r\n".join(lines), encoding="utf-8", newline="")
    page.goto(f"/prompts/{prompt}/tests/")
    choose(page, page.get_by_role("button", name="Import a file").last, file)
    expect(page.get_by_label("What Name becomes")).to_have_value("name")
    expect(page.locator("[data-cases-notes]")).to_contain_text("Left out: notes.")
    page.get_by_role("button", name="Import", exact=True).click()
    problems = page.locator("[data-cases-problems]")
    expect(problems).to_contain_text("1 row of the file cannot be read", timeout=READ_WITHIN_MS)
    expect(problems.locator("tbody tr td")).to_have_text(["8", "9", re.compile("3 values")])
    look(page, "cases-problems")

    choose(page, problems.get_by_role("button", name="Again, without these rows"), file)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(problems).to_contain_text("1 row of the file was left out", timeout=READ_WITHIN_MS)
    expect(page.locator("[data-cases-state]")).to_have_text("2,499 rows, read only")
    page.get_by_role("grid").focus()
    page.keyboard.press("Control+ArrowDown")
    expect(cell(page, 2498, 0)).to_have_text("Person 2499")
    assert page.locator(".grid-row").count() < 80
    kept = api.get(f"prompts/{prompt}/datasets").raise_for_status().json()["results"]
    assert [(each["name"], each["status"], each["count"]) for each in kept] == [("people & <others>", "ready", 2499)]


def test_what_was_typed_is_kept_over_a_cut_and_beside_changes_of_somebody_else(
    page: Page, prompt: str, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    complaints.expect(r"/rows: .*status of 409")
    exact = "a\r\nb $& {{tone}} \t "
    made = {"name": "Cases", "columns": ["name", "mood"], "rows": [{"values": {"name": exact, "mood": "warm"}}]}
    dataset = api.post(f"prompts/{prompt}/datasets", json=made).raise_for_status().json()
    page.goto(f"/prompts/{prompt}/tests/{dataset['id']}/")
    state = page.locator("[data-cases-state]")
    expect(page.get_by_role("grid")).to_be_focused()
    page.get_by_role("button", name="mood is not used").click()
    page.get_by_label("What to do").select_option("tone")
    with page.expect_navigation():
        page.get_by_role("button", name="Change the column").click()
    expect(page.get_by_role("grid")).to_be_focused()
    expect(page.get_by_role("columnheader")).to_have_text(["Row", "name", "tone", "Expected"])
    expect(cell(page, 0, 1)).to_have_text("warm")
    page.keyboard.press("Enter")
    expect(page.locator("[data-side]").get_by_label("name, row 1")).to_be_focused()
    page.keyboard.press("Escape")
    page.context.set_offline(True)
    page.keyboard.press("ArrowDown")
    page.keyboard.type("?offline")
    page.keyboard.press("Enter")
    expect(state).to_contain_text("Not saved")
    page.context.set_offline(False)
    expect(state).to_have_text("Saved")
    kept = api.get(f"datasets/{dataset['id']}/rows").raise_for_status().json()
    assert [row["values"]["name"] for row in kept["results"]] == [exact, "?offline"]

    theirs = {"revision": kept["revision"], "edits": [{"op": "remove", "index": 0, "count": 1}]}
    api.patch(f"datasets/{dataset['id']}/rows", json=theirs).raise_for_status()
    page.keyboard.type("mine")
    page.keyboard.press("Enter")
    expect(page.locator("[data-notices]")).to_contain_text("Somebody else changed these test cases")
    with page.expect_navigation():
        page.get_by_role("button", name="Keep mine as new test cases").click()
    expect(cell(page, 2, 0)).to_have_text("mine")
    assert [row["values"]["name"] for row in rows_of(api, page)] == [exact, "?offline", "mine"]


def rows_of(api: httpx2.Client, page: Page) -> list[dict[str, Any]]:
    """What is kept of the test cases that are open."""
    dataset = page.url.rstrip("/").rsplit("/", 1)[1]
    rows: list[dict[str, Any]] = api.get(f"datasets/{dataset}/rows").raise_for_status().json()["results"]
    return rows
