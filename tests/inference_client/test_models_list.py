from __future__ import annotations

import time
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from core.errors import InvalidInput
from inference_client import catalogue
from tests.inference_client.upstream import Call, Script, Upstream, Wire
from tests.waiting import quickest

pytestmark = pytest.mark.django_db

LIST = "/api/v1/models"


def lists(*rows: Any) -> Script:
    async def script(call: Call, wire: Wire) -> None:
        await wire.answer(200, {"data": list(rows), "has_more": False})

    return script


def test_the_models_are_those_of_the_backend(owner_api: APIClient, upstream: Upstream) -> None:
    upstream.does(
        lists(
            {"id": "tiny", "context_window": 2048, "capabilities": ["text"], "provider": "local", "notice": "Small."},
            {"type": "model", "id": "big", "max_input_tokens": 200000},
            {"type": "model", "id": "odd", "context_window": "lots"},
        )
    )
    answer = owner_api.get(LIST)
    assert answer.status_code == 200
    listed = answer.json()["results"]
    assert [(row["id"], row["context"], row["capabilities"], row["notice"]) for row in listed] == [
        ("tiny", 2048, ["text"], "Small."),
        ("big", 200000, None, None),
        ("odd", None, None, None),
    ]
    assert {(row["provider"], row["available"], row["price"]) for row in listed} == {("self-hosted", True, None)}
    assert upstream.calls[0].headers["authorization"] == "Bearer sk-test"


def test_how_busy_a_model_is_comes_from_a_server_that_says_so(owner_api: APIClient, upstream: Upstream) -> None:
    load = {"waiting": 3, "running": 2, "slots": 2, "tokens_per_s": 41.5}
    upstream.does(
        lists({"id": "busy", "load": load}, {"id": "silent"}, {"id": "odd", "load": {**load, "waiting": "many"}})
    )
    assert [row["load"] for row in owner_api.get(LIST).json()["results"]] == [load, None, None]


def test_the_backend_is_asked_once_in_a_while(owner_api: APIClient, upstream: Upstream) -> None:
    upstream.does(lists({"id": "tiny"}))
    assert [owner_api.get(LIST).status_code for _ in range(3)] == [200, 200, 200]
    assert len(upstream.calls) == 1


def test_a_dead_backend_is_said_to_be_unavailable(owner_api: APIClient, settings: Settings) -> None:
    settings.INFERENCE_BASE_URL = "http://127.0.0.1:1"
    answer = owner_api.get(LIST)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "inference_unavailable")


def test_a_backend_that_hangs_is_given_up_after_two_seconds_and_not_asked_at_once_again(
    owner_api: APIClient, upstream: Upstream
) -> None:
    async def hang(call: Call, wire: Wire) -> None:
        await wire.until_left()

    def ask() -> float:
        cache.delete("inference-models")
        asked_at = time.monotonic()
        assert owner_api.get(LIST).status_code == 503
        return time.monotonic() - asked_at

    upstream.does(hang)
    assert quickest(ask, under_s=3) < 3
    calls = len(upstream.calls)
    assert owner_api.get(LIST).status_code == 503
    assert len(upstream.calls) == calls


@pytest.mark.parametrize("body", [{"data": 5}, {"data": [{"name": "no id"}]}, [], {"data": ["text"]}])
def test_a_list_that_is_none_is_said_to_be_unavailable(owner_api: APIClient, upstream: Upstream, body: object) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.answer(200, body)

    upstream.does(script)
    assert owner_api.get(LIST).status_code == 503


def test_a_list_too_deep_to_read_is_said_to_be_unavailable(owner_api: APIClient, upstream: Upstream) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + b"[" * 200_000)

    upstream.does(script)
    assert owner_api.get(LIST).status_code == 503


def test_a_model_that_is_not_on_offer_is_refused_with_what_is(owner: User, upstream: Upstream) -> None:
    upstream.does(lists({"id": "tiny"}))
    catalogue.refuse_unknown(owner, "tiny")
    with pytest.raises(InvalidInput, match="tiny") as refused:
        catalogue.refuse_unknown(owner, "huge")
    assert (refused.value.code, refused.value.field) == ("unknown_model", "model")


def test_no_model_is_refused_while_the_backend_is_away(owner: User, settings: Settings) -> None:
    settings.INFERENCE_BASE_URL = "http://127.0.0.1:1"
    catalogue.refuse_unknown(owner, "anything")


def test_nobody_signed_in_is_asked_to_sign_in(anonymous_api: APIClient) -> None:
    assert anonymous_api.get(LIST).status_code == 401


def test_models_are_not_made_here(owner_api: APIClient) -> None:
    assert owner_api.post(LIST, {}).status_code == 405
