"""`POST /api/v1/prompts/{id}/count`: what a spec would take, and what will be refused, before anything is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.core.cache import cache
from pytest_django import Settings
from rest_framework.test import APIClient

from inference_client.models import Run
from playground.models import Prompt, Version
from playground.services import SavedVersion
from tests.services_plugin import Instance
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

MODEL = "smollm2-135m-instruct"
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def backend(inference_service: Instance, settings: Settings) -> str:
    """The real inference backend in front of the embedded model."""
    cache.clear()
    url = settings.INFERENCE_BASE_URL = inference_service.environment["INFERENCE_BASE_URL"]
    wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)
    settings.INFERENCE_API_KEY = inference_service.environment.get("INFERENCE_API_KEY", settings.INFERENCE_API_KEY)
    return url


@pytest.fixture
def nobody(settings: Settings) -> None:
    """No inference backend anywhere."""
    cache.clear()
    settings.INFERENCE_BASE_URL = "http://127.0.0.1:1"


@pytest.fixture
def ask(owner_api: APIClient, prompt: Prompt) -> Ask:
    """`ask(variables=..., **fields)`: the answer for a spec with these fields."""

    def post(variables: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        spec = {"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": "Hello {{name}}"}], **fields}
        body = {"spec": spec, "variables": variables or {}}
        answer = owner_api.post(f"/api/v1/prompts/{prompt.pk}/count", body, format="json")
        assert answer.status_code == 200, answer.content
        found: dict[str, Any] = answer.json()
        return found

    return post


def errors(found: dict[str, Any]) -> dict[str, str]:
    return {each["field"]: each["message"] for each in found["problems"] if each["level"] == "error"}


@pytest.mark.model
def test_tokens_are_those_that_the_model_server_counts(backend: str, ask: Ask, settings: Settings) -> None:
    found = ask({"name": "Ada"}, system="Be brief.")
    body = {"model": MODEL, "system": "Be brief.", "messages": [{"role": "user", "content": "Hello Ada"}]}
    headers = {"anthropic-version": "2023-06-01", "Authorization": f"Bearer {settings.INFERENCE_API_KEY}"}
    counted = httpx2.post(f"{backend}/v1/messages/count_tokens", json=body, headers=headers).json()
    assert found["input_tokens"] == counted["input_tokens"] > 5
    assert found["room"] == found["context"] - found["input_tokens"]
    assert (found["overflow"], found["problems"], found["cost"], found["reason"]) == (None, [], None, "")
    assert found["largest"]["field"] in ("system", "messages.0")
    assert not Run.objects.exists()
    assert not Version.objects.exists()


@pytest.mark.model
def test_a_longer_value_takes_more_tokens_and_an_unset_one_counts_as_written(backend: str, ask: Ask) -> None:
    unset, short, long = ask(), ask({"name": "Ada"}), ask({"name": "Ada and " * 50})
    assert unset["input_tokens"] > short["input_tokens"]
    assert long["input_tokens"] > short["input_tokens"] + 80
    assert long["largest"] == {"field": "messages.0", "bytes": 406, "tokens": long["input_tokens"]}


@pytest.mark.model
def test_a_prompt_that_leaves_no_room_is_told_before_it_is_run(backend: str, ask: Ask) -> None:
    context = ask()["context"]
    cut = ask(max_tokens=context)
    assert (cut["overflow"], cut["room"]) == ("answer", context - cut["input_tokens"])
    full = ask({"name": "word " * (context + 10)})
    assert (full["overflow"], full["room"]) == ("input", 0)
    assert full["input_tokens"] > context


@pytest.mark.model
def test_megabytes_are_not_sent_to_be_counted(backend: str, ask: Ask) -> None:
    found = ask(messages=[{"role": "user", "content": "x" * 2_000_000}])
    assert (found["overflow"], found["input_tokens"]) == ("input", None)
    assert found["at_least"] >= found["context"]


@pytest.mark.model
def test_tools_and_a_schema_together_say_why_they_do_not_work(backend: str, ask: Ask) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    assert ask(output_schema=schema)["problems"] == []
    assert ask(tools=[TOOL], tool_choice={"type": "any"})["problems"] == []
    both = ask(tools=[TOOL], tool_choice={"type": "any"}, output_schema=schema)
    assert "cannot be combined with tools" in errors(both)["output_schema.format"]
    assert both["input_tokens"] is None


@pytest.mark.model
def test_what_this_model_cannot_do_is_told_at_its_field(backend: str, ask: Ask) -> None:
    assert "cannot decide by itself" in errors(ask(tools=[TOOL]))["tool_choice"]
    assert "thinking" in errors(ask(thinking={"type": "adaptive"}))["thinking"]
    assert "There is no model" in errors(ask(model="none-such"))["model"]


@pytest.mark.model
def test_a_model_of_ones_own_says_how_busy_it_is(backend: str, owner_api: APIClient) -> None:
    [model] = owner_api.get("/api/v1/models").json()["results"]
    assert model["load"].keys() == {"waiting", "running", "slots", "tokens_per_s"}
    assert model["load"]["slots"] >= 1


def test_a_provider_that_this_person_does_not_reach_is_told(nobody: None, owner_api: APIClient, prompt: Prompt) -> None:
    spec = {"model": "claude-x", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    body = {"spec": spec, "provider": "anthropic"}
    found = owner_api.post(f"/api/v1/prompts/{prompt.pk}/count", body, format="json").json()
    assert "There is no model" in errors(found)["model"]
    assert found["input_tokens"] is None


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"temperature": 0, "api_version": "2026-10-21"}, "temperature", "not taken by API version"),
        ({"max_tokens": "x"}, "max_tokens", "whole number"),
        ({"tools": "[{"}, "tools", "Not usable JSON"),
        ({"output_schema": '{"type":"objekt"}'}, "output_schema.type", "is no type"),
        ({"tools": [{"name": "a b"}], "tool_choice": {"type": "any"}}, "tools.0.name", "letters"),
        ({"tools": [TOOL, TOOL], "tool_choice": {"type": "any"}}, "tools.1.name", "2 tools are named look"),
        ({"tools": [{"name": "a"}], "tool_choice": {"type": "any"}}, "tools.0.input_schema", "needs an input_schema"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "nope"}}, "tool_choice", 'no tool named "nope"'),
        ({"tool_choice": {"type": "any"}}, "tool_choice", "together with tools"),
        ({"thinking": {"type": "enabled", "budget_tokens": 5}}, "thinking", "1,024"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 4096}, "max_tokens": 4096},
            "thinking",
            "less than max tokens",
        ),
        ({"thinking": {"type": "adaptive"}, "temperature": 0.2}, "temperature", "With thinking"),
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "{ "}]},
            "messages.1.content",
            "ends in a blank",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]},
            "messages.0.content.0",
            "answers no call",
        ),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content", "empty message"),
    ],
)
def test_what_will_be_refused_is_told_at_its_field(
    nobody: None, ask: Ask, fields: dict[str, Any], place: str, words: str
) -> None:
    assert words in errors(ask(**fields))[place]


def test_what_structured_outputs_refuse_is_a_note_for_a_model_of_ones_own(nobody: None, ask: Ask) -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    notes = [each for each in ask(output_schema=tree)["problems"] if each["level"] == "note"]
    assert [each["field"] for each in notes] == ["output_schema.properties.kids.items.$ref", "output_schema"]


def test_nothing_is_claimed_while_the_model_server_is_away(nobody: None, ask: Ask) -> None:
    found = ask()
    assert (found["input_tokens"], found["overflow"], found["cost"]) == (None, None, None)
    assert "does not answer" in found["reason"]


def test_a_text_is_counted_by_its_name_within_its_prompt_only(
    nobody: None, owner_api: APIClient, prompt: Prompt, save: Callable[..., SavedVersion], ask: Ask
) -> None:
    save(text="Some words")
    names = owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/1").json()["spec"]["messages"][0]["content"]
    found = ask(messages=[{"role": "user", "content": {"body": names["body"]}}])
    assert found["largest"] == {"field": "messages.0", "bytes": 10, "tokens": None}
    body = {"spec": {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": {"body": "0" * 64}}]}}
    answer = owner_api.post(f"/api/v1/prompts/{prompt.pk}/count", body, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "no_such_body")


def test_what_is_no_spec_is_refused(nobody: None, owner_api: APIClient, prompt: Prompt) -> None:
    url = f"/api/v1/prompts/{prompt.pk}/count"
    assert owner_api.post(url, {"spec": []}, format="json").status_code == 400
    assert owner_api.post(url, {"spec": {}, "variables": "x"}, format="json").json()["error"]["field"] == "variables"
    assert owner_api.get(url).status_code == 405


def test_a_friend_may_ask_and_a_stranger_learns_nothing(
    nobody: None, friend_api: APIClient, stranger_api: APIClient, shared: Prompt
) -> None:
    body = {"spec": {"model": MODEL, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}}
    url = f"/api/v1/prompts/{shared.pk}/count"
    assert friend_api.post(url, body, format="json").status_code == 200
    assert stranger_api.post(url, body, format="json").status_code == 404
    assert APIClient().post(url, body, format="json").status_code == 401
