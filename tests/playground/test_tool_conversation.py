"""A whole conversation with tools: through the REST API, a real worker and our real inference backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.redis import client
from playground import services
from playground.models import Prompt
from playground.spec import parse
from tests.celery_worker import RUNS, worker
from tests.inference_backend.scripted_engine import DONE, MODEL, End, ScriptedEngine, call, finish, text, usage, whole
from tests.playground.tool_model import TOOLS, tool_model
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engine(settings: Settings, tmp_path: Path) -> Iterator[ScriptedEngine]:
    """A model with tools, and a worker that sends it the runs of this test."""
    names = list(client().scan_iter("celery*")) + list(client().scan_iter("unacked*"))
    if names:
        client().delete(*names)
    with tool_model() as (scripted, address):
        settings.INFERENCE_BASE_URL = address
        with worker(tmp_path / "worker.log", queues=RUNS, INFERENCE_BASE_URL=address):
            yield scripted


@pytest.fixture
def version_url(owner: User, prompt: Prompt) -> str:
    ask = {"role": "user", "content": "Weather in {{city}}, and the time?"}
    spec = {"model": MODEL, "max_tokens": 50, "messages": [ask], "tools": TOOLS}
    services.save_version(author=owner, prompt=prompt, spec=parse(spec))
    return f"/api/v1/prompts/{prompt.pk}/versions/1"


def run_of(api: APIClient, url: str, body: dict[str, Any]) -> dict[str, Any]:
    """The run that a call makes, when it has ended."""
    answer = api.post(url, body, format="json")
    assert answer.status_code == 201, answer.content
    run = f"/api/v1/runs/{answer.json()['id']}"
    wait_until(lambda: api.get(run).json()["status"] not in ("queued", "running"))
    ended: dict[str, Any] = api.get(run).json()
    assert ended["status"] == "succeeded", ended["error"]
    return ended


def test_two_calls_are_answered_and_the_model_goes_on(
    owner_api: APIClient, version_url: str, engine: ScriptedEngine
) -> None:
    both = [call(0, name="get_weather", arguments='{"city": "Köln"}'), call(1, name="get_time")]
    engine.play(text("Let me look."), *both, finish("tool_calls"), usage(9, 6), DONE, End())
    engine.play(*whole("Rain at noon."))
    asked = run_of(owner_api, f"{version_url}/runs", {"variables": {"city": "Köln"}})
    said = asked["wire_response"]["content"]
    assert [block["type"] for block in said] == ["text", "tool_use", "tool_use"]
    weather, time = (block["id"] for block in said[1:])

    too_early = owner_api.post(f"/api/v1/runs/{asked['id']}/replies", {"content": "And?"}, format="json")
    assert (too_early.status_code, too_early.json()["error"]["code"]) == (422, "tool_call_unanswered")
    assert len(engine.requests) == 1

    results = [
        {"type": "tool_result", "tool_use_id": weather, "content": '{"sky": "rain"}'},
        {"type": "tool_result", "tool_use_id": time, "content": "no clock", "is_error": True},
    ]
    answered = run_of(owner_api, f"/api/v1/runs/{asked['id']}/replies", {"content": results})
    assert answered["output"] == "Rain at noon."
    assert answered["wire_request"]["messages"][1:] == [
        {"role": "assistant", "content": said},
        {"role": "user", "content": results},
    ]
    told = engine.requests[-1]["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "tool"]
    assert [message["content"] for message in told[2:]] == ['{"sky": "rain"}', "Error: no clock"]

    engine.play(*whole("You are welcome."))
    thanked = run_of(owner_api, f"/api/v1/runs/{answered['id']}/replies", {"content": "Thanks"})
    assert len(thanked["wire_request"]["messages"]) == 5
    tree = owner_api.get(f"/api/v1/runs/{thanked['id']}/conversation").json()
    assert len(tree["results"]) == 3
    assert len(tree["turns"]) == 4
