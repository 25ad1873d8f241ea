"""axe-core finds no serious violation on the pages of a prompt that was run, compared and tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import BrowserContext

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import read_spec, save_version
from tests.browser.test_every_page import VIEWS

ROWS = [{"values": {"name": "Ada", "tone": "warm"}, "expected": "Hello"}, {"values": {"name": "שלום 🦄"}}]
#: Scripts fill in what a page shows; what comes later than this is looked at as it is.
FILLED_WITHIN_MS = 700
CHECKS = [{"kind": "contains", "text": "zzqx"}, {"kind": "similarity", "threshold": 0}]


@pytest.fixture
def pages(make_prompt: Callable[..., str], api: httpx2.Client) -> dict[str, str]:
    """Addresses by name, of a prompt with two versions that were run in every way."""
    prompt = make_prompt("Greet {{name}} in a {{tone}} way.", max_tokens=4)
    spec = read_spec(api, prompt, 1)
    save_version(api, prompt, {**spec, "max_tokens": 5}, parent=1)
    clashing = {**spec, "max_tokens": 6, "messages": [{"role": "user", "content": "Greet {{name}}, {{tone}}ly."}]}
    save_version(api, prompt, clashing, parent=1, branch="idea")

    def make(path: str, **body: Any) -> str:
        answer = api.post(f"prompts/{prompt}/{path}", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    values = {"name": "Ada", "tone": "warm"}
    make("versions/2/runs", variables=values, wait_s=0)
    comparison = make("comparisons", columns=[{"version": 1}, {"version": 2}], variables=values, repetitions=2)
    dataset = make("datasets", name="Cases", rows=ROWS)
    batch = make("batches", dataset=dataset, versions=[1, 2], checks=CHECKS)
    home = f"/prompts/{prompt}"
    return {
        "columns": f"{home}/columns/?versions=1,2",
        "comparison": f"{home}/columns/{comparison}/",
        "tests": f"{home}/tests/",
        "test cases": f"{home}/tests/{dataset}/",
        "new batch": f"{home}/batches/new/?dataset={dataset}",
        "batch": f"{home}/batches/{batch}/",
        "runs": f"{home}/runs/?version=2&kind=all",
        "texts compared": f"{home}/compare/?from=1&to=2",
        "merge": f"{home}/merge/?ours=main&theirs=idea",
        "who looked": f"{home}/access/",
        "shares": "/shares/",
        "shared": "/shared/",
        "providers": "/account/providers/",
        "notifications": "/notifications/",
    }


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_serious_is_wrong_with_them(
    open_context: Callable[..., BrowserContext], pages: dict[str, str], view: str
) -> None:
    page = open_context(**VIEWS[view]).new_page()
    found = []
    for name, path in pages.items():
        page.goto(path)
        page.wait_for_timeout(FILLED_WITHIN_MS)
        found += [f"{name}: {each}" for each in serious_violations(page)]
        width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if width[0] > width[1]:
            found.append(f"{name} scrolls sideways: {width}")
    assert found == []
