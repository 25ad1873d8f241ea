"""Bodies that are large by their structure: refused before they are parsed, or read without stopping the others."""

import json
from typing import Any

import httpx2
import pytest

from inference_backend.dialect.conversation import build_prompt
from inference_backend.dialect.schema import MAX_BLOCKS, MAX_MESSAGES, CountTokensRequest, parse_count_request
from inference_backend.dialect.structure import MAX_MARKS, check_structure
from inference_backend.engines.protocol import Capabilities
from inference_backend.errors import InvalidRequestError
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01", "content-type": "application/json"}
MESSAGE = b'{"role":"user","content":"a"}'
BLOCK = b'{"type":"text","text":"a"}'


def with_messages(messages: bytes) -> bytes:
    return b'{"model":"%s","max_tokens":5,"messages":[%s]}' % (MODEL.encode(), messages)


@pytest.mark.parametrize(
    "body",
    [
        with_messages(b",".join([MESSAGE] * 1_000_000)),
        with_messages(b'{"role":"user","content":[%s]}' % b",".join([BLOCK] * 1_000_000)),
        with_messages(b"[" * 10_000_000),
        with_messages(b'{"role":"user","content":"a","x":[%s1]}' % (b"1," * 10_000_000)),
    ],
    ids=["messages", "blocks", "brackets", "numbers"],
)
def test_millions_of_fields_are_refused_before_they_are_parsed(
    engine: ScriptedEngine, backend: str, body: bytes
) -> None:
    for path in ("messages", "messages/count_tokens"):
        response = httpx2.post(f"{backend}/v1/{path}", content=body, headers=HEADERS, trust_env=False, timeout=60)
        assert response.status_code == 400
        assert f"{MAX_MARKS:,}" in response.json()["error"]["message"]
    assert engine.requests == []


def test_a_long_text_is_not_taken_for_structure() -> None:
    check_structure(json.dumps({"content": "A sentence, as people write them: with a few marks. " * 500_000}).encode())


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (with_messages(b",".join([MESSAGE] * (MAX_MESSAGES + 1))), "messages"),
        (with_messages(b'{"role":"user","content":[%s]}' % b",".join([BLOCK] * (MAX_BLOCKS + 1))), "content"),
    ],
    ids=["messages", "blocks"],
)
def test_more_messages_or_blocks_than_any_context_holds_are_refused_by_name(
    backend: str, body: bytes, place: str
) -> None:
    response = httpx2.post(f"{backend}/v1/messages", content=body, headers=HEADERS, trust_env=False, timeout=60)
    assert response.status_code == 400
    assert place in response.json()["error"]["message"]


def read(messages: list[dict[str, Any]]) -> CountTokensRequest:
    return parse_count_request(json.dumps({"model": MODEL, "messages": messages}).encode())


def test_many_messages_of_one_role_become_one_turn() -> None:
    count, text = 15_000, "some words " * 100
    prompt = build_prompt(
        read([{"role": "user", "content": text}] * count),
        capabilities=Capabilities(prefill=True, top_k=True, count_tokens=True),
    )
    assert [turn.role for turn in prompt.turns] == ["user"]
    assert prompt.turns[0].text == "\n".join([text] * count)


def test_a_blank_message_is_refused_wherever_it_stands() -> None:
    with pytest.raises(InvalidRequestError, match=r"messages\.1"):
        build_prompt(
            read([{"role": "user", "content": "a"}, {"role": "user", "content": " \n"}]),
            capabilities=Capabilities(prefill=True, top_k=True, count_tokens=True),
        )
