"""A conversation in the output pane: replies, siblings, calls of tools, and the way back into the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from accounts.models import User
from core.redis import client
from playground import services
from playground.spec import parse
from tests.browser.conftest import Complaints, new_context
from tests.browser.pictures import take_picture
from tests.browser.workbench import Workbench
from tests.celery_worker import RUNS, worker
from tests.chat.site import Site
from tests.chat.site import sign_in as cookie_of
from tests.inference_backend.scripted_engine import DONE, MODEL, End, ScriptedEngine, call, finish, text, usage, whole
from tests.playground.tool_model import TOOLS, tool_model


def turns(page: Page) -> Locator:
    return page.locator("[data-talk-before] .turn")


def reply(page: Page, words: str) -> None:
    box = page.locator("[data-talk] [data-reply-text]")
    box.fill(words)
    box.press("Control+Enter")
    expect(page.locator("[data-output]")).to_have_attribute("data-status", re.compile("queued|running|succeeded"))


def test_a_conversation_goes_on_branches_and_becomes_messages_of_the_prompt(
    page: Page, make_prompt: Callable[..., str], api: httpx2.Client
) -> None:
    bench = Workbench(page).open(make_prompt("Say yes.", name="A talk", max_tokens=6, temperature=0))
    bench.run()
    first_answer = bench.wait_for_end()
    first = bench.run_id

    box = page.locator("[data-talk] [data-reply-text]")
    box.fill("And {{why}}?")
    box.dispatch_event("keydown", {"key": "Enter", "ctrlKey": True, "isComposing": True, "keyCode": 229})
    page.reload()
    bench.wait()
    expect(box).to_have_value("And {{why}}?")
    box.press("Control+Enter")
    expect(turns(page)).to_have_count(2)
    bench.wait_for_end()
    second = bench.run_id
    assert second != first
    expect(turns(page).nth(1)).to_contain_text("And {{why}}?")
    sent = api.get(f"runs/{second}").json()["wire_request"]["messages"]
    assert [message["content"] for message in sent[::2]] == ["Say yes.", "And {{why}}?"]
    assert sent[1]["content"] == [{"type": "text", "text": first_answer}]

    expect(page.locator("[data-talk] [data-reply-send]")).to_be_visible()
    turns(page).nth(1).hover()
    page.get_by_role("button", name="Edit this turn").click()
    editor = turns(page).nth(1).locator("[data-reply-text]")
    expect(editor).to_have_value("And {{why}}?")
    editor.fill("And how?")
    editor.press("Control+Enter")
    expect(turns(page).nth(1)).to_contain_text("2 of 2")
    bench.wait_for_end()
    page.get_by_role("button", name="Earlier version of this turn").click()
    expect(turns(page).nth(1)).to_contain_text("1 of 2")
    expect(turns(page).nth(1)).to_contain_text("And {{why}}?")
    assert bench.run_id == second
    page.go_back()
    expect(turns(page).nth(1)).to_contain_text("And how?")
    page.goto(f"/runs/{first}/")
    bench.wait()
    expect(page.locator("[data-replies] a")).to_have_count(2)
    page.locator("[data-replies] a").first.click()
    expect(turns(page)).to_have_count(2)
    take_picture(page, "conversation")

    page.get_by_role("button", name="Add reply to messages").click()
    expect(bench.state).to_have_text("Unsaved")
    bench.save("What was said")
    saved = api.get(f"prompts/{bench.prompt_id}/versions/2", params={"include": "texts"}).json()
    messages = saved["spec"]["messages"]
    assert messages[1] == {"role": "assistant", "content": first_answer}
    assert messages[2] == {"role": "user", "content": "And {{{{why}}?"}
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert saved["variables_used"] == []


@pytest.fixture
def database() -> Iterator[None]:
    """The database of the test beside Playwright, whose event loop in this thread Django takes for that of a view."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "yes")
        yield


@pytest.fixture
def engine(
    database: None, transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ScriptedEngine]:
    """A model with tools, and a worker that sends it the runs of this test."""
    del database, transactional_db
    names = list(client().scan_iter("celery*")) + list(client().scan_iter("unacked*"))
    if names:
        client().delete(*names)
    with tool_model() as (scripted, address):
        monkeypatch.setenv("INFERENCE_BASE_URL", address)
        with worker(tmp_path / "worker.log", queues=RUNS):
            yield scripted


@pytest.fixture
def tool_page(
    engine: ScriptedEngine, owner: User, chromium: Browser, complaints: Complaints, tmp_path: Path
) -> Iterator[Page]:
    """The workbench of the owner's prompt with two tools."""
    del engine
    prompt = services.create_prompt(owner=owner, name="Weather")
    ask = {"role": "user", "content": "Weather in Köln, and the time?"}
    services.save_version(
        author=owner, prompt=prompt, spec=parse({"model": MODEL, "max_tokens": 50, "messages": [ask], "tools": TOOLS})
    )
    site = Site(tmp_path)
    site.start()
    context = new_context(chromium, site.origin, complaints, viewport={"width": 1440, "height": 900})
    name, _, value = cookie_of(owner)[1].partition("=")
    context.add_cookies([{"name": name, "value": value, "url": site.origin}])
    page = context.new_page()
    page.goto(f"/prompts/{prompt.pk}/")
    yield page
    context.close()
    site.stop()


def test_calls_of_tools_are_answered_together_and_again_with_what_was_typed_before(
    tool_page: Page, engine: ScriptedEngine
) -> None:
    page = tool_page
    bench = Workbench(page).wait()
    both = [call(0, name="get_weather", arguments='{"city": "Köln"}'), call(1, name="get_time")]
    engine.play(text("Let me look."), *both, finish("tool_calls"), usage(9, 6), DONE, End())
    engine.play(*whole("Rain at noon."))
    bench.run()
    bench.wait_for_end()
    weather = page.get_by_role("region", name="Call of get_weather")
    time = page.get_by_role("region", name="Call of get_time")
    expect(weather).to_contain_text('"city": "Köln"')
    send = page.locator("[data-talk] [data-reply-send]")
    expect(send).to_contain_text("Answer get_weather, get_time")
    # It is not disabled: it leads to what is missing.
    send.click(force=True)
    expect(weather.get_by_role("textbox")).to_be_focused()
    weather.get_by_role("textbox").fill('{"sky": "rain"}')
    expect(send).to_contain_text("Answer get_time")
    take_picture(page, "tool-calls")
    page.reload()
    bench.wait()
    expect(weather.get_by_role("textbox")).to_have_value('{"sky": "rain"}')
    time.get_by_label("The tool failed").check()
    time.get_by_role("textbox").fill("no clock")
    expect(send).to_contain_text("Send reply")
    time.get_by_role("textbox").press("Control+Enter")
    expect(page.locator("[data-output-markdown]")).to_contain_text("Rain at noon.")
    told = engine.requests[-1]["messages"]
    assert [message["content"] for message in told[2:]] == ['{"sky": "rain"}', "Error: no clock"]
    expect(turns(page).nth(1)).to_contain_text("Result of get_weather")

    engine.play(*both[:1], finish("tool_calls"), usage(9, 6), DONE, End())
    engine.play(*whole("Still rain."))
    reply(page, "And now?")
    late = page.locator("[data-output] .answer-blocks").get_by_role("region", name="Call of get_weather")
    late.get_by_role("button", name="Earlier results").click()
    late.get_by_role("button", name='{"sky": "rain"}').click()
    expect(late.get_by_role("textbox")).to_have_value('{"sky": "rain"}')
    page.get_by_role("button", name="Add reply to messages").click()
    expect(page.get_by_role("button", name="Added to messages")).to_be_disabled()
    expect(bench.state).to_have_text("Unsaved")
    send.click()
    expect(page.locator("[data-output-markdown]")).to_contain_text("Still rain.")
    assert len(engine.requests) == 4
