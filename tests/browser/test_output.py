"""The output pane: each way an answer can end, what it can hold, and a run that goes on wherever it is looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.accessibility import serious_violations
from tests.browser.answers import (
    MODEL,
    UNSAFE,
    WORDS,
    play_cut,
    play_empty,
    play_limit,
    play_misfit,
    play_no_json,
    play_refusal,
    play_refused,
    play_thinking,
    play_unsafe,
    play_words,
)
from tests.browser.conftest import Complaints, new_context
from tests.browser.live_accounts import LiveAccount
from tests.browser.pictures import take_picture
from tests.browser.scripted import scripted_account, scripted_api, scripted_stack
from tests.browser.workbench import RUN_WITHIN_MS, Workbench
from tests.inference_client.upstream import Call, Wire
from tests.services_plugin import Instance

__all__ = ["scripted_account", "scripted_api", "scripted_stack"]

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["name"],
}


@pytest.fixture
def open_pane(
    chromium: Browser, scripted_stack: Instance, scripted_account: LiveAccount, complaints: Complaints
) -> Iterator[Callable[..., BrowserContext]]:
    opened: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        given = {"viewport": {"width": 1440, "height": 900}, "storage_state": scripted_account.session, **options}
        opened.append(new_context(chromium, scripted_stack.base_url, complaints, **given))
        return opened[-1]

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def begin(scripted_api: httpx2.Client) -> Callable[..., tuple[str, str]]:
    """`begin(script, **spec)`: ids of a prompt and of a run of it that plays the script."""

    def make(script: Callable[[Call, Wire], Any], **fields: Any) -> tuple[str, str]:
        name = script.__name__
        prompt = scripted_api.post("prompts", json={"name": name}).raise_for_status().json()["id"]
        spec = {"model": MODEL, "max_tokens": 64, "messages": [{"role": "user", "content": name}], **fields}
        for path, body in (("versions", {"spec": spec}), ("versions/1/runs", {"variables": {}})):
            answer = scripted_api.post(f"prompts/{prompt}/{path}", json=body)
            assert answer.status_code == 201, answer.text
        return str(prompt), str(answer.json()["id"])

    return make


LONGER = "(least) => document.querySelector('[data-output-text]').textContent.length > least"
SELECT_FIRST_WORD = """() => {
    const text = document.querySelector("[data-output-markdown] > p").firstChild;
    getSelection().setBaseAndExtent(text, 0, text, 2);
}"""


class Pane:
    """The output pane, as a person sees it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.bench = Workbench(page)
        self.markdown = page.locator("[data-output-markdown]")
        self.problem = page.locator("[data-output-problem]")
        self.json = page.locator("#panel-json")

    @property
    def length(self) -> int:
        """Of the answer that is shown, in code points."""
        return len(self.bench.answer.text_content() or "")

    def show(self, prompt: str, run: str) -> None:
        self.bench.open(prompt, 1, f"?run={run}").wait_for_end()

    def says(self, *words: str) -> None:
        for each in words:
            expect(self.problem).to_contain_text(each)

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()


def test_each_way_to_end_says_what_happened_and_what_to_do(
    open_pane: Callable[..., BrowserContext], begin: Callable[..., tuple[str, str]]
) -> None:
    pane = Pane(open_pane().new_page())
    pane.show(*begin(play_empty))
    pane.says("Empty answer", "Stop reason: end of turn.")
    pane.show(*begin(play_refusal))
    pane.says("Refused", "What it had written by then is kept above.")
    expect(pane.markdown).to_have_text("I would")
    pane.show(*begin(play_refused))
    pane.says("The provider refused the request", "tools.0: <b>wrong</b>")
    pane.show(*begin(play_cut))
    pane.says("The answer broke off", "The text that had arrived is kept above.")
    expect(pane.markdown).to_have_text("Half an answer 🙂")
    take_picture(pane.page, "output-broken-off")
    pane.show(*begin(play_limit))
    pane.says("Cut off at the token limit")
    pane.problem.get_by_role("button", name="Raise max tokens").click()
    expect(pane.page.get_by_label("Max tokens")).to_have_value("128")
    expect(pane.page.get_by_label("Max tokens")).to_be_focused()


def test_blocks_stand_in_their_order_and_a_structured_answer_shows_its_errors_where_they_are(
    open_pane: Callable[..., BrowserContext], begin: Callable[..., tuple[str, str]]
) -> None:
    page = open_pane().new_page()
    pane = Pane(page)
    prompt, run = begin(play_thinking)
    pane.show(prompt, run)
    thinking = page.locator("[data-blocks-before] details")
    expect(thinking).not_to_have_attribute("open", re.compile(".*"))
    thinking.locator("summary").click()
    expect(thinking).to_contain_text("Where is it raining?")
    expect(pane.markdown.locator("strong")).to_have_text("it")
    expect(page.locator("[data-blocks-after]")).to_contain_text("get_weather")
    take_picture(page, "output-blocks")
    assert serious_violations(page) == []
    pane.tab("Wire")
    facts = page.locator("[data-wire-facts]")
    for words in (
        "Queue time",
        "Time to first token",
        "Tokens per second",
        "req_upstream_1",
        "tool_use (wants a tool)",
    ):
        expect(facts).to_contain_text(words)
    expect(facts.locator("div", has_text="read from the cache")).to_contain_text("1,000")
    expect(page.locator("[data-wire-head]")).to_contain_text(f"idempotency-key: {run}")
    take_picture(page, "output-wire")
    assert serious_violations(page) == []
    # The tab that somebody chose is the one that the next run is shown in.
    pane.show(*begin(play_empty))
    expect(page.get_by_role("tab", name="Wire")).to_have_attribute("aria-selected", "true")
    pane.tab("Markdown")

    pane.show(*begin(play_misfit, output_schema=json.dumps(SCHEMA)))
    expect(pane.json).to_be_visible()
    expect(pane.json).to_contain_text("Does not follow its schema in 2 places.")
    pane.json.get_by_role("button", name="/tags/1").click()
    expect(pane.json.locator('[data-pointer="/tags/1"]')).to_be_focused()
    expect(pane.json.locator('[data-pointer="/tags/1"]')).to_contain_text("Must be string, is null.")
    take_picture(page, "output-json")
    assert serious_violations(page) == []
    pane.show(*begin(play_no_json, output_schema=json.dumps(SCHEMA)))
    expect(pane.json).to_contain_text("Not JSON from line 2, column 11 on")
    expect(pane.json.locator("mark")).to_have_text("o")


def test_what_a_model_writes_is_text_and_fetches_nothing(
    open_pane: Callable[..., BrowserContext], begin: Callable[..., tuple[str, str]]
) -> None:
    page = open_pane().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    pane = Pane(page)
    pane.show(*begin(play_unsafe))
    expect(pane.markdown).to_contain_text('say <channel> <img src=x data-broken onerror="window.broken=1">')
    expect(pane.markdown.locator("strong")).to_have_text("bold")
    assert page.locator("[data-broken]").count() == 0
    assert page.evaluate("window.broken") is None
    links = pane.markdown.locator("a").evaluate_all("all => all.map((each) => each.href)")
    assert links == ["http://elsewhere.invalid/pixel.png"]
    assert serious_violations(page) == []
    assert not [address for address in asked if "elsewhere" in address]
    pane.tab("Raw")
    assert page.locator("[data-output-text]").text_content() == UNSAFE


def test_a_run_is_followed_again_when_the_network_is_back_and_a_stop_in_one_tab_shows_in_the_other(
    open_pane: Callable[..., BrowserContext],
    begin: Callable[..., tuple[str, str]],
    scripted_api: httpx2.Client,
    complaints: Complaints,
) -> None:
    complaints.expect("ERR_INTERNET_DISCONNECTED")
    prompt, run = begin(play_words)
    there, here = (Pane(open_pane().new_page()) for _ in range(2))
    address = f"/prompts/{prompt}/versions/1/?run={run}"
    for pane in (there, here):
        pane.page.goto(address)
        expect(pane.bench.answer).to_contain_text("w3🙂")
    here.page.evaluate(SELECT_FIRST_WORD)
    here.page.context.set_offline(offline=True)
    expect(here.page.locator("[data-run-state]")).to_have_text("Reconnecting")
    # Emulation cuts no stream that is open. What is tried is the way back, from the last event that came.
    shown = here.length
    here.page.context.set_offline(offline=False)
    here.page.wait_for_function(LONGER, arg=shown + 100, timeout=RUN_WITHIN_MS)
    # Who selects in an answer that grows keeps what is selected.
    assert here.page.evaluate("getSelection().toString()") == "w0"

    there.page.get_by_role("button", name="Stop").click()
    for pane in (there, here):
        expect(pane.bench.output).to_have_attribute("data-status", "cancelled", timeout=RUN_WITHIN_MS)
        pane.says("Stopped", "What had arrived by then is kept above.")
    kept = scripted_api.get(f"runs/{run}").json()["output"]
    assert "".join(WORDS).startswith(kept)
    for pane in (there, here):
        expect(pane.bench.answer).to_have_text(kept.rstrip())
    here.page.reload()
    expect(here.bench.answer).to_have_text(kept.rstrip())
