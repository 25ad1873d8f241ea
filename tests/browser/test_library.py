"""All prompts: found, put in order, thrown away, brought back, taken in from elsewhere."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import Complaints, read_spec
from tests.browser.large_texts import many_lines, send
from tests.browser.workbench import Workbench

CURL = """curl https://api.example.com/v1/messages \\
  -H "x-api-key: $KEY" -H "content-type: application/json" \\
  -d '{"model": "claude-x", "max_tokens": 100, "system": "Be <b>kind</b>.",
       "messages": [{"role": "user", "content": "Hello {{name}}"}]}'"""


@pytest.fixture
def named(make_prompt: Callable[..., str]) -> Callable[..., str]:
    """`named("what")`: the name of a new prompt that no other test uses."""

    def make(what: str, content: str = "text") -> str:
        name = f"{what} {uuid.uuid4().hex[:8]}"
        make_prompt(content, name=name)
        return name

    return make


def row(page: Page, name: str) -> Locator:
    return page.locator("[data-prompt]", has_text=name)


def choose(page: Page, name: str, action: str) -> None:
    page.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name=action).click()


def test_a_prompt_goes_to_the_trash_comes_back_and_is_erased(
    page: Page, named: Callable[..., str], api: httpx2.Client
) -> None:
    name = named("Thrown away")
    page.goto(f"/?q={name}")
    choose(page, name, "Move to the trash")
    expect(page.locator("[data-toast]")).to_contain_text("Moved to the trash")
    expect(row(page, name)).to_have_count(0)
    page.get_by_role("link", name="Trash").click()
    choose(page, name, "Restore")
    expect(page.locator("[data-toast]")).to_contain_text(f"Restored {name}")
    page.goto(f"/?q={name}")
    expect(row(page, name)).to_be_visible()
    choose(page, name, "Move to the trash")
    expect(row(page, name)).to_have_count(0)
    page.get_by_role("link", name="Trash").click()
    choose(page, name, "Erase for good")
    field = page.get_by_label("Type its name to confirm")
    field.fill("something else")
    page.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was erased")
    field.fill(name)
    page.get_by_role("button", name="Erase", exact=True).click()
    expect(row(page, name)).to_have_count(0)
    assert api.get("prompts", params={"q": name, "state": "trashed"}).json()["results"] == []


def test_several_are_moved_tagged_and_archived_at_once(page: Page, named: Callable[..., str]) -> None:
    mark = uuid.uuid4().hex[:8]
    names = [named(f"Many {mark}") for _ in range(3)]
    page.goto(f"/?q={mark}")
    for name in names[:2]:
        page.get_by_label(f"Select {name}").check()
    expect(page.locator("[data-bulk-count]")).to_have_text("2 selected")
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_label("Folder left empty").fill(f"team/{mark}")
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Moved 2 prompts")
    page.goto("/")
    page.get_by_role("link", name=mark).first.click()
    expect(page.locator("[data-prompt]")).to_have_count(2)
    page.get_by_label("Select all").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_label("Tag", exact=True).fill(f"t{mark}")
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Tagged 2 prompts")
    page.get_by_role("link", name=f"t{mark}").click()
    expect(page.locator("[data-prompt]")).to_have_count(2)
    page.locator("[data-row-link]").first.focus()
    page.keyboard.press("x")
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("[data-prompt]")).to_have_count(1)
    page.get_by_role("link", name="Archived").click()
    expect(page.locator("[data-prompt]")).to_have_count(1)


def test_words_are_found_in_texts_and_shown_with_their_version(page: Page, named: Callable[..., str]) -> None:
    word = f"w{uuid.uuid4().hex[:10]}"
    name = named("Found by a word", f"Say <b>{word}</b> & <script>alert(1)</script>")
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    expect(row(page, name).locator("mark")).to_have_text(word)
    row(page, name).get_by_role("link", name="v1").click()
    expect(Workbench(page).wait().text()).to_contain_text(word)


def test_a_prompt_is_renamed_and_tagged_in_its_row(page: Page, named: Callable[..., str], api: httpx2.Client) -> None:
    name = named("Renamed")
    page.goto(f"/?q={name}")
    choose(page, name, "Rename")
    page.locator("#row-rename").get_by_label("Description").fill("about <i>it</i>")
    page.keyboard.press("Enter")
    expect(row(page, name)).to_contain_text("about <i>it</i>")
    choose(page, name, "Tags")
    page.get_by_label("Tags separated by commas").fill("a, b ,a,, ")
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text("Tags saved")
    assert api.get("prompts", params={"q": name}).json()["results"][0]["tags"] == ["a", "b"]


def test_a_folder_is_renamed_with_those_inside_and_the_list_that_shows_it_goes_along(
    page: Page, api: httpx2.Client, complaints: Complaints
) -> None:
    complaints.expect("status of 409")
    old, new, taken = (f"{word} {uuid.uuid4().hex[:6]}" for word in ("Old", "New <b>", "Taken"))
    for name, folder in (("one", old), ("two", f"{old}/inside"), ("three", taken)):
        api.post("prompts", json={"name": f"{name} {old}", "folder": folder}).raise_for_status()
    page.goto("/?" + urlencode({"folder": f"{old}/inside"}))
    page.get_by_role("button", name=f"Rename or move {old}", exact=True).click()
    field = page.get_by_label("Folder", exact=True)
    expect(field).to_have_value(old)
    expect(field).to_be_focused()
    field.fill(taken)
    page.keyboard.press("Enter")
    expect(page.locator("#row-folder [role=alert]")).to_contain_text(
        f"There is a folder {taken} already, with 1 prompt."
    )
    field.fill(new)
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text(f"Moved {new}, 2 prompts")
    expect(page.get_by_role("link", name=f"two {old}")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query)["folder"] == [f"{new}/inside"]
    page.get_by_role("button", name=f"Rename or move {new}", exact=True).click()
    field.fill(taken)
    page.get_by_label("Merge with the folder of that name").check()
    page.keyboard.press("Enter")
    expect(page.locator("[data-toast]")).to_contain_text(f"Moved {taken}, 2 prompts")
    found = api.get("prompts", params={"q": old}).json()["results"]
    assert sorted(row["folder"] for row in found) == [taken, taken, f"{taken}/inside"]


def test_a_pasted_curl_command_becomes_a_prompt(page: Page, api: httpx2.Client) -> None:
    page.goto("/import/")
    page.get_by_label("Text to import").click()
    page.keyboard.insert_text(CURL)
    expect(page.locator("[data-import-kind]")).to_contain_text("curl")
    expect(page.get_by_label("Warnings")).to_contain_text("headers of the command")
    expect(page.locator("[data-import-texts]")).to_contain_text("Be <b>kind</b>.")
    assert serious_violations(page) == []
    page.get_by_label("Name").fill("From a command")
    page.get_by_role("button", name="Create prompt").click()
    bench = Workbench(page)
    page.wait_for_url("**/prompts/**")
    bench.wait()
    expect(bench.value("name")).to_be_visible()
    spec = read_spec(api, bench.prompt_id, 1)
    assert (spec["system"], spec["model"]) == ("Be <b>kind</b>.", "claude-x")


def test_what_is_no_prompt_is_said(page: Page, complaints: Complaints) -> None:
    complaints.expect("status of 400")
    page.goto("/import/")
    page.get_by_label("Text to import").click()
    page.keyboard.insert_text(json.dumps({"hello": "world"}))
    expect(page.get_by_role("alert")).to_contain_text("none of the known formats")
    assert serious_violations(page) == []
    expect(page.get_by_role("button", name="Create prompt")).to_be_hidden()


def test_an_export_is_taken_in_again(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client, tmp_path: Path
) -> None:
    name = f"Exported {uuid.uuid4().hex[:8]}"
    prompt = make_prompt("one", name=name)
    spec = read_spec(api, prompt, 1)
    large = many_lines(300_000)
    spec["messages"][0]["content"] = {"upload": send(api, prompt, large)}
    api.post(f"prompts/{prompt}/versions", json={"spec": spec, "message": "large"}).raise_for_status()
    Workbench(page).open(prompt)
    page.get_by_role("button", name="More actions").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export").click()
    file = tmp_path / "export.zip"
    download.value.save_as(file)
    page.goto("/import/")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(file)
    expect(page.locator("[data-import-kind]")).to_have_text("export")
    assert serious_violations(page) == []
    page.get_by_role("button", name="Create prompt").click()
    page.wait_for_url("**/prompts/**")
    bench = Workbench(page).wait()
    assert bench.prompt_id != prompt
    expect(bench.version).to_have_text("v2")
    assert api.get(f"prompts/{bench.prompt_id}/versions/2/texts/0").content == large


def test_a_version_is_copied_into_a_new_prompt(page: Page, named: Callable[..., str], api: httpx2.Client) -> None:
    name = named("Original", "copied {{x}}")
    page.goto(f"/?q={name}")
    page.get_by_role("link", name=name).first.click()
    bench = Workbench(page).wait()
    original = bench.prompt_id
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Copy version").click()
    expect(page.get_by_label("Name of the new prompt")).to_have_value(f"Copy of {name}")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/prompts/" in url and original not in url)
    bench.wait()
    assert read_spec(api, bench.prompt_id, 1)["messages"][0]["content"] == "copied {{x}}"
