"""Counting tokens before a run: what the model server says is passed on, and its silence is never a number."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from inference_client import counting
from inference_client.counting import Counted, count_tokens
from tests.inference_client.conftest import hello
from tests.inference_client.upstream import Call, Script, Upstream, Wire

pytestmark = pytest.mark.django_db


def says(status: int, body: Any) -> Script:
    async def script(call: Call, wire: Wire) -> None:
        await wire.answer(status, body)

    return script


def count(owner: User) -> Counted:
    body = hello(system="Be brief.", temperature=0, stream=False)
    return count_tokens(account=owner, provider="self-hosted", body=body, api_version="2023-06-01")


def test_only_what_counts_is_asked_about_and_for_whom(owner: User, upstream: Upstream) -> None:
    upstream.does(says(200, {"input_tokens": 12}))
    assert count(owner) == Counted(tokens=12)
    [call] = upstream.calls
    assert call.path == "/v1/messages/count_tokens"
    assert call.json.keys() == {"model", "messages", "system"}
    assert call.headers["anthropic-version"] == "2023-06-01"
    assert call.headers["x-playground-account"] == str(owner.pk)


def test_a_refusal_is_told_in_the_words_of_the_server(owner: User, upstream: Upstream) -> None:
    upstream.does(says(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "tools: no"}}))
    assert count(owner).refusal == "tools: no"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, {"error": {"message": "Not Found"}}, "cannot count"),
        (401, {"error": {"message": "sk-test is wrong"}}, "does not accept the key"),
        (529, {"error": {"message": "busy"}}, "cannot count"),
        (500, ["odd"], "cannot count"),
        (200, {"input_tokens": True}, "no number"),
        (200, ["odd"], "no number"),
    ],
)
def test_what_is_no_count_is_said_to_be_unknown(
    owner: User, upstream: Upstream, status: int, body: Any, words: str
) -> None:
    upstream.does(says(status, body))
    found = count(owner)
    assert (found.tokens, found.refusal) == (None, "")
    assert words in found.reason
    assert "sk-test" not in found.reason


def test_a_server_that_hangs_is_given_up(owner: User, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(call: Call, wire: Wire) -> None:
        await wire.until_left()

    monkeypatch.setattr(counting, "ANSWER_S", 0.3)
    upstream.does(hang)
    assert "too long" in count(owner).reason
