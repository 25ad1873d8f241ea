"""A file that a worker takes in, as the import page shows it: sent past the application, followed, cancelled."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Complaints
from tests.browser.large_texts import MB
from tests.browser.workbench import Workbench
from tests.playground.importing_files import history

pytestmark = pytest.mark.long

WITHIN_MS = 60_000
VERSIONS = 400
NAME = "Imported <b>large</b> ملف"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "export.zip"
    path.write_bytes(history(VERSIONS, length=25_000, name=NAME))
    assert path.stat().st_size > 8 * MB
    return path


def choose(page: Page, file: Path) -> None:
    page.goto("/import/")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(file)
    expect(page.locator("[data-import-kind]")).to_have_text("export")
    page.get_by_role("button", name="Create prompt").click()


def test_a_large_file_goes_past_the_application_and_is_followed_over_a_reload(
    page: Page, api: httpx2.Client, file: Path
) -> None:
    posted: list[int] = []

    def note(request: Request) -> None:
        if request.method == "POST" and "/api/v1/" in request.url:
            posted.append(len(request.post_data_buffer or b""))

    page.on("request", note)
    choose(page, file)
    words = page.locator("[data-import-progress-words]")
    expect(words).to_contain_text(re.compile(r"\d+ of 400 versions"), timeout=WITHIN_MS)
    assert max(posted) < 10_000
    page.reload()
    expect(words).to_contain_text(re.compile(r"\d+ of 400 versions"), timeout=WITHIN_MS)
    expect(page.locator("[data-import-progress-name]")).to_have_text(NAME)
    page.wait_for_url("**/prompts/**", timeout=WITHIN_MS)
    bench = Workbench(page).wait()
    expect(bench.version).to_have_text(f"v{VERSIONS}")
    text = api.get(f"prompts/{bench.prompt_id}/versions/{VERSIONS}/texts/0").content
    assert text == f"{VERSIONS}: ".encode() + b"x" * 25_000


def test_cancel_ends_it_and_leaves_nothing(page: Page, api: httpx2.Client, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(history(VERSIONS, length=20_000, name="Never to be seen"))
    choose(page, file)
    expect(page.locator("[data-import-progress-words]")).to_contain_text("of 400 versions", timeout=WITHIN_MS)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-import-error]")).to_have_text("The import was cancelled. Nothing was made.")
    expect(page.get_by_role("button", name="Create prompt")).to_be_visible()
    assert api.get("prompts", params={"q": "Never to be seen"}).json()["results"] == []


def test_a_damaged_file_fails_with_a_sentence_and_another_can_be_chosen(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(history(10, length=200_000)[:-100])
    choose(page, file)
    expect(page.locator("[data-import-error]")).to_contain_text("no zip file, or it is damaged", timeout=WITHIN_MS)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_label("Text to import")).to_be_visible()


def test_an_address_of_an_import_that_is_not_mine_says_so(page: Page, complaints: Complaints) -> None:
    complaints.expect("status of 404")
    page.goto("/import/?import=01a22c9d-8c4b-736d-be98-68963ac6c7db")
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.locator("[data-import-progress]")).to_be_hidden()
