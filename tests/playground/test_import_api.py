"""`POST prompts/import` and its preview with texts of other formats."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import InferenceUnavailable
from inference_client import catalogue
from playground import freezing
from playground.models import Label, Prompt, Version
from playground.services import SavedVersion

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]
URL = "/api/v1/prompts/import"
LANGFUSE = {"name": "critic", "prompt": "Rate {{movie}}.", "config": {"model": "m"}, "labels": ["production", "7"]}


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "list_models", lambda person: [catalogue.Model(id="on-offer")])


def test_a_preview_makes_nothing(owner_api: APIClient) -> None:
    answer = owner_api.post(f"{URL}/preview", {"text": json.dumps(LANGFUSE)}, format="json")
    assert answer.status_code == 200
    assert answer.json() == {
        "kind": "langfuse",
        "name": "critic",
        "spec": {"model": "m", "max_tokens": 1024, "messages": [{"role": "user", "content": "Rate {{movie}}."}]},
        "tags": [],
        "labels": ["production", "7"],
        "warnings": ["It has no limit of tokens: 1024 was filled in."],
    }
    assert not Prompt.objects.exists()


def test_a_text_is_imported_as_a_new_prompt(owner_api: APIClient, owner: User) -> None:
    answer = owner_api.post(URL, {"text": json.dumps(LANGFUSE)}, format="json")
    assert answer.status_code == 201
    made = answer.json()
    assert (made["kind"], made["versions_made"], made["prompt"]["name"]) == ("langfuse", 1, "critic")
    version = Version.objects.get(prompt_id=made["prompt"]["id"])
    assert (version.author, version.number, version.message) == (owner, 1, "Imported (langfuse)")
    assert freezing.thaw(version)["messages"][0]["content"] == "Rate {{movie}}."
    assert list(Label.objects.values_list("name", "version__number")) == [("production", 1)]


def test_the_json_itself_is_imported_too(owner_api: APIClient) -> None:
    assert owner_api.post(URL, LANGFUSE, format="json").json()["prompt"]["name"] == "critic"
    assert owner_api.post(URL, [LANGFUSE], format="json").json()["kind"] == "langfuse"


def test_a_name_may_be_given(owner_api: APIClient) -> None:
    body = {"text": 'curl https://x -d \'{"messages": [{"role": "user", "content": "hi"}]}\'', "name": "Mine"}
    made = owner_api.post(URL, body, format="json").json()
    assert (made["prompt"]["name"], made["kind"]) == ("Mine", "curl, messages")
    assert Version.objects.get().model == "on-offer"


def test_an_import_into_a_prompt_is_an_ordinary_version(owner_api: APIClient, prompt: Prompt, save: Save) -> None:
    save()
    for status, made in ((201, 1), (200, 0)):
        answer = owner_api.post(f"{URL}?prompt={prompt.pk}", LANGFUSE, format="json")
        assert (answer.status_code, answer.json()["versions_made"]) == (status, made)
    assert owner_api.get(f"/api/v1/prompts/{prompt.pk}/versions/main").json()["parent"] == 1
    undone = owner_api.post(f"/api/v1/prompts/{prompt.pk}/branches/main/undo", {}, format="json")
    assert undone.json()["head"] == 1


def test_one_key_makes_one_prompt(owner_api: APIClient) -> None:
    answers = [owner_api.post(URL, LANGFUSE, format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json()["prompt"]["id"] == answers[1].json()["prompt"]["id"]
    assert Prompt.objects.count() == 1


def test_without_a_backend_the_model_is_left_to_choose(owner_api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(person: User) -> None:
        raise InferenceUnavailable

    monkeypatch.setattr(catalogue, "list_models", away)
    answer = owner_api.post(f"{URL}/preview", {"text": '{"name": "x", "prompt": "y"}'}, format="json")
    assert answer.json()["spec"]["model"] == "choose-a-model"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": "words"}, 400, "unknown_format"),
        ({"text": "{"}, 400, "invalid_json"),
        ({"text": "curl https://x"}, 400, "not_importable"),
        ({"text": '{"messages": [{"role": "robot", "content": "x"}]}'}, 400, "invalid_input"),
        ({"text": '{"messages": [{"role": "user", "content": {"body": "%s"}}]}' % ("0" * 64)}, 400, "no_such_body"),
        ({}, 400, "unknown_format"),
        ([], 400, "unknown_format"),
    ],
)
def test_bad_input_is_told_and_makes_nothing(owner_api: APIClient, body: Any, status: int, code: str) -> None:
    answer = owner_api.post(URL, body, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not Prompt.objects.exists()
    preview = owner_api.post(f"{URL}/preview", body, format="json")
    assert preview.status_code == (200 if code == "no_such_body" else status)


def test_strangers_import_into_their_own_only(
    stranger_api: APIClient, anonymous_api: APIClient, prompt: Prompt
) -> None:
    assert stranger_api.post(f"{URL}?prompt={prompt.pk}", LANGFUSE, format="json").status_code == 404
    for path in (URL, f"{URL}/preview"):
        assert anonymous_api.post(path, {"text": "{}"}, format="json").status_code == 401
    assert not Version.objects.exists()


def test_no_key_of_a_command_is_logged_or_kept(owner_api: APIClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for body in ('{"messages": [{"role": "user", "content": "hi"}]}', "not json"):
        command = f"curl https://x?k=SECRETKEY -H 'x-api-key: SECRETKEY' -d '{body}'"
        for path in (URL, f"{URL}/preview"):
            assert "SECRETKEY" not in owner_api.post(path, {"text": command}, format="json").content.decode()
    assert "SECRETKEY" not in caplog.text
    assert "SECRETKEY" not in "".join(Version.objects.values_list("spec", flat=True))
