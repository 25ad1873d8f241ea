"""`.../diff`: what changed between versions, and what a save would change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from playground import services
from playground.models import Prompt
from playground.services import SavedVersion
from playground.spec import parse

pytestmark = pytest.mark.django_db
Save = Callable[..., SavedVersion]


@pytest.fixture
def url(prompt: Prompt) -> str:
    return f"/api/v1/prompts/{prompt.pk}/diff"


def test_equal_versions_differ_in_nothing(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    save()
    diff = owner_api.get(url, {"from": "1", "to": "main"}).json()
    assert diff == {"from": 1, "to": 2, "equal": True, "fields": [], "texts": []}


def test_fields_and_texts_are_told_apart(
    owner_api: APIClient, url: str, save: Save, owner: User, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    save(text="one\ntwo\nthree")
    changed = {
        **raw_spec,
        "temperature": 0.5,
        "messages": [{"role": "user", "content": "one\nTWO\nthree"}, {"role": "assistant", "content": "new"}],
    }
    services.save_version(author=owner, prompt=prompt, spec=parse(changed))
    diff = owner_api.get(url, {"from": 1, "to": 2}).json()
    assert diff["fields"] == [{"name": "temperature", "before": None, "after": 0.5}]
    first, second = diff["texts"]
    assert (first["state"], first["to"]) == ("changed", {"place": "messages.0", "role": "user"})
    assert [(line["op"], line["text"]) for line in first["hunks"][0]["lines"]] == [
        ("=", "one"),
        ("-", "two"),
        ("+", "TWO"),
        ("=", "three"),
    ]
    assert (second["state"], second["to"]["place"]) == ("added", "messages.1")


def test_an_inserted_message_does_not_make_the_others_differ(
    owner_api: APIClient, url: str, save: Save, owner: User, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    save(text="kept")
    messages = [{"role": "user", "content": "before"}, {"role": "user", "content": "kept"}]
    services.save_version(author=owner, prompt=prompt, spec=parse({**raw_spec, "messages": messages}))
    texts = owner_api.get(url, {"from": 1, "to": 2}).json()["texts"]
    assert [(text["state"], text["to"]["place"]) for text in texts] == [("added", "messages.0")]


def test_a_changed_role_is_a_change(
    owner_api: APIClient, url: str, save: Save, owner: User, prompt: Prompt, raw_spec: dict[str, Any]
) -> None:
    save(text="same")
    spec = parse({**raw_spec, "messages": [{"role": "assistant", "content": "same"}]})
    services.save_version(author=owner, prompt=prompt, spec=spec)
    text = owner_api.get(url, {"from": 1, "to": 2}).json()["texts"][0]
    assert (text["from"]["role"], text["to"]["role"], text["diff"]) == ("user", "assistant", "equal")


def test_an_unsaved_spec_is_compared_too(owner_api: APIClient, url: str, save: Save, raw_spec: dict[str, Any]) -> None:
    frozen = save(text="saved").version.frozen
    spec = {**raw_spec, "system": frozen["system"], "messages": [{"role": "user", "content": "saved "}]}
    diff = owner_api.post(url, {"from": "1", "spec": spec}, format="json").json()
    assert (diff["from"], diff["to"], diff["fields"]) == (1, None, [])
    assert [(text["to"]["place"], text["whitespace_only"]) for text in diff["texts"]] == [("messages.0", True)]


def test_bad_input_names_its_field(owner_api: APIClient, url: str, save: Save) -> None:
    save()
    assert owner_api.get(url, {"from": 1}).json()["error"]["field"] == "to"
    assert owner_api.get(url, {"from": 1, "to": 7}).status_code == 404
    answer = owner_api.post(url, {"from": 1, "spec": {"model": "m"}}, format="json")
    assert answer.json()["error"]["field"] == "spec.max_tokens"


def test_strangers_compare_nothing(stranger_api: APIClient, anonymous_api: APIClient, url: str, save: Save) -> None:
    save()
    assert stranger_api.get(url, {"from": 1, "to": 1}).status_code == 404
    assert anonymous_api.get(url, {"from": 1, "to": 1}).status_code == 401
