"""The history of runs and the page of providers, used as a person does, with names that somebody would really give."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints, save_version
from tests.browser.test_every_page import VIEWS, look
from tests.waiting import wait_until

UGLY = "Résumé‑prüfer 🧑🏽‍🚀 für den 2. Entwurf, einmal als ganzer Satz eingefügt und nie gekürzt – מאמר על חלל"
STORY = "Write a very long story about a lighthouse and its keeper."
KEY = "sk-ant-api03-typed-in-a-browser-WXYZ"
Open = Callable[..., BrowserContext]


@pytest.fixture
def prompt(make_prompt: Callable[..., str]) -> str:
    return make_prompt("Say hello.", name=UGLY, max_tokens=6)


@pytest.fixture
def without_key(api: httpx2.Client) -> Iterator[None]:
    """However this test or another ends, none finds a key that it did not add."""
    api.delete("providers/anthropic/key")
    yield
    api.delete("providers/anthropic/key")


def run(api: httpx2.Client, prompt: str, number: int = 1, **fields: Any) -> str:
    answer = api.post(f"prompts/{prompt}/versions/{number}/runs", json=fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(api: httpx2.Client, run_id: str) -> str:
    status = ""

    def is_over() -> bool:
        nonlocal status
        status = api.get(f"runs/{run_id}").json()["status"]
        return status not in ("queued", "running")

    wait_until(is_over)
    return status


def test_a_person_finds_stops_and_opens_runs(page: Page, api: httpx2.Client, prompt: str) -> None:
    done = run(api, prompt)
    assert ended(api, done) == "succeeded"
    story = {"model": "smollm2-135m-instruct", "max_tokens": 1500, "messages": [{"role": "user", "content": STORY}]}
    save_version(api, prompt, story)
    going_on = [run(api, prompt, 2) for _ in range(3)]

    page.goto(f"/prompts/{prompt}/")
    page.locator("[data-prompt-menu-button]").click()
    page.get_by_role("menuitem", name="Your runs of it").click()
    rows = page.locator("[data-runs] > li")
    expect(rows).to_have_count(4)
    expect(page.get_by_role("heading", level=1)).to_contain_text(UGLY)

    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-runs-count]")).to_have_text("1 selected")
    page.get_by_label("Select all that are not over on this page").check()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("Stopped 3 runs"))).to_be_visible()
    for each in going_on:
        assert ended(api, each) == "cancelled"
    # What is over meanwhile says so without being asked again.
    expect(page.locator('[data-runs] [data-state="cancelled"]')).to_have_count(3)
    expect(page.locator("[data-runs-bulk]")).to_be_hidden()

    page.get_by_label("State", exact=True).select_option(label="Done")
    page.wait_for_url(re.compile(r"\?status=succeeded$"))
    expect(rows).to_have_count(1)
    page.get_by_label("Version", exact=True).fill("2")
    page.get_by_label("Version", exact=True).press("Enter")
    page.wait_for_url(re.compile("version=2"))
    expect(page.get_by_role("heading", name="No such run")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(rows).to_have_count(4)
    page.get_by_label("From", exact=True).fill("2099-01-01")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", name="No such run")).to_be_visible()
    expect(page.get_by_label("From", exact=True)).to_have_value("2099-01-01")
    page.go_back()
    page.locator(f'[data-run="{done}"] [data-row-link]').focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"/prompts/{prompt}/versions/1/\?run={done}"))


def test_ones_own_key_is_added_tried_and_removed(page: Page, complaints: Complaints, without_key: None) -> None:
    page.goto("/account/")
    page.get_by_role("link", name=re.compile("own keys for them")).click()
    page.get_by_role("button", name="Add your key").click()
    field = page.get_by_label("Key", exact=True)
    field.fill("ppk_of-this-playground-itself")
    complaints.expect("400")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("never sent to Anthropic")
    field.fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your key, which ends in WXYZ")).to_be_visible()
    assert KEY not in page.content()
    page.get_by_role("button", name="Test").click()
    expect(page.locator("[data-key-verdict]")).to_contain_text("does not answer")
    # The page learns of it within seconds, too; a run would fail, and is not needed to find out.
    page.reload()
    expect(page.get_by_text(re.compile("Anthropic does not answer since"))).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Keep it")).to_be_focused()
    page.get_by_role("button", name="Remove key").click()
    expect(page.get_by_role("button", name="Add your key")).to_be_visible()


@pytest.fixture
def difficult(api: httpx2.Client, prompt: str, without_key: None) -> str:
    """Runs of every kind: done, failed, stopped, compared; two prompts with hard names."""
    api.put("providers/anthropic/key", json={"key": KEY}).raise_for_status()
    runs = [run(api, prompt) for _ in range(2)]
    runs.append(run(api, prompt, model="claude-sonnet-5"))
    compared = {"columns": [{"version": 1}, {"version": 1}], "variables": {}, "repetitions": 1}
    api.post(f"prompts/{prompt}/comparisons", json=compared).raise_for_status()
    arabic = api.post("prompts", json={"name": f"ترجمة {uuid.uuid4().hex}"}).json()["id"]
    spec = {"model": "smollm2-135m-instruct", "max_tokens": 9, "messages": [{"role": "user", "content": "مرحبا"}]}
    save_version(api, arabic, spec)
    runs.append(run(api, arabic))
    for each in runs:
        ended(api, each)
    run(api, prompt, model="smollm2-135m-instruct")
    return prompt


@pytest.mark.parametrize("view", VIEWS)
def test_pictures(open_context: Open, difficult: str, view: str) -> None:
    page = open_context(**VIEWS[view]).new_page()
    page.goto("/runs/")
    look(page, f"run-history-{view}")
    page.goto(f"/prompts/{difficult}/runs/?kind=all")
    look(page, f"run-history-of-a-prompt-{view}")
    page.goto("/account/providers/")
    look(page, f"providers-{view}")
    page.get_by_role("button", name="Replace").click()
    look(page, f"providers-dialog-{view}")
