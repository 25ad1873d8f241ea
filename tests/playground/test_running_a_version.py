"""`POST /api/v1/prompts/{id}/versions/{n}/runs`: a version with its values becomes one queued run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from inference_client.models import Run
from playground import services
from playground.models import Prompt, VersionRun
from playground.services import SavedVersion
from playground.spec import parse

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"/api/v1/prompts/{prompt.pk}/versions"


def post(api: APIClient, url: str, body: dict[str, Any], **headers: str) -> Any:
    return api.post(f"{url}/1/runs", body, format="json", headers=headers)


def test_the_request_is_the_version_with_its_values(owner_api: APIClient, url: str, save: Save) -> None:
    version = save(text="Greet {{name}}, {{{{literally}}.").version
    answer = post(owner_api, url, {"variables": {"name": "$& {{name}}"}})
    assert (answer.status_code, answer.json()["status"]) == (201, "queued")
    run = Run.objects.get(pk=answer.json()["id"])
    assert json.loads(run.request) == {
        "model": "test-model",
        "max_tokens": 16,
        "system": "You greet people.",
        "messages": [{"role": "user", "content": "Greet $& {{name}}, {{literally}}."}],
        "stream": True,
    }
    tie = VersionRun.objects.get(run=run)
    assert (tie.version, json.loads(tie.variables)) == (version, {"name": "$& {{name}}"})


def test_an_unset_variable_refuses_and_makes_no_run(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    answer = post(owner_api, url, {})
    assert answer.status_code == 422
    assert answer.json()["error"]["data"] == {"names": ["name"]}
    assert not Run.objects.exists()


def test_an_empty_text_is_a_value(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert post(owner_api, url, {"variables": {"name": ""}}).status_code == 201


def test_another_model_and_more_turns_may_be_given(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    turns = [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "{{name}}?"}]
    answer = post(owner_api, url, {"variables": {"name": "x"}, "model": "other", "messages": turns})
    body = json.loads(Run.objects.get(pk=answer.json()["id"]).request)
    assert (body["model"], body["messages"][1:]) == ("other", turns)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"variables": "x"}, "variables"),
        ({"variables": {"two words": "x"}}, "variables.two words"),
        ({"variables": {"name": "x"}, "messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"variables": {"name": "x"}, "messages": "x"}, "messages"),
        ({"variables": {"name": "x"}, "model": "m" * 300}, "model"),
    ],
)
def test_bad_input_names_its_field(
    owner_api: APIClient, url: str, save: Save, body: dict[str, Any], field: str
) -> None:
    save()
    answer = post(owner_api, url, body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_one_key_makes_one_run(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    body = {"variables": {"name": "x"}}
    answers = [post(owner_api, url, body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Run.objects.count() == 1


@pytest.mark.parametrize("wait_s", [0, 0.1])
def test_a_call_that_is_repeated_after_its_label_moved_finds_its_run(
    owner_api: APIClient, prompt: Prompt, save: Save, raw_spec: dict[str, Any], wait_s: float
) -> None:
    save()
    path = f"/api/v1/prompts/{prompt.pk}"
    owner_api.put(f"{path}/labels/production", {"version": 1}, format="json")
    body = {"variables": {"name": "x"}, "wait_s": wait_s}
    first = owner_api.post(f"{path}/versions/production/runs", body, format="json", headers={"Idempotency-Key": "k"})
    # The version it points at now needs a value that the call does not give.
    asks_more = parse({**raw_spec, "messages": [{"role": "user", "content": "{{name}} {{more}}"}]})
    services.save_version(author=prompt.owner, prompt=prompt, spec=asks_more)
    assert owner_api.put(f"{path}/labels/production", {"version": 2}, format="json").status_code == 200
    again = owner_api.post(f"{path}/versions/production/runs", body, format="json", headers={"Idempotency-Key": "k"})
    assert (again.status_code, again["Location"]) == (first.status_code, first["Location"])
    assert Run.objects.count() == 1


def test_one_key_for_two_different_runs_is_409(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    post(owner_api, url, {"variables": {"name": "x"}}, **{"Idempotency-Key": "k"})
    answer = post(owner_api, url, {"variables": {"name": "y"}}, **{"Idempotency-Key": "k"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_a_stranger_runs_nothing(stranger_api: APIClient, anonymous_api: APIClient, url: str, save: Save) -> None:
    save()
    assert post(stranger_api, url, {"variables": {"name": "x"}}).status_code == 404
    assert post(anonymous_api, url, {"variables": {"name": "x"}}).status_code == 401
    assert not Run.objects.exists()
