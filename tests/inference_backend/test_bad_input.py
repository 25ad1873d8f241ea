"""Every refusal names what is wrong, in the shape of the API, and costs the engine nothing."""

import json
from typing import Any

import anthropic
import httpx2
import pytest

from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine

OLD, NEW = "2023-06-01", "2026-10-21"
GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}]}
TOOL = {"name": "look", "input_schema": {"type": "object"}}


def post(
    address: str, body: Any, *, version: str | None = OLD, path: str = "/v1/messages", **headers: str
) -> httpx2.Response:
    sent = {"x-api-key": SERVICE_KEY, **headers} | ({"anthropic-version": version} if version else {})
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(address + path, content=content, headers=sent, trust_env=False, timeout=30)


def refusal(response: httpx2.Response, status: int, kind: str) -> str:
    body = response.json()
    assert response.status_code == status, body
    assert body["type"] == "error"
    assert body["error"]["type"] == kind
    assert body["request_id"] == response.headers["request-id"]
    message: str = body["error"]["message"]
    return message


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


def message(content: Any, role: str = "user") -> dict[str, Any]:
    return GOOD | {"messages": [{"role": role, "content": content}]}


CASES: list[tuple[dict[str, Any], str]] = [
    (without("max_tokens"), "max_tokens: Field required"),
    (GOOD | {"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    (GOOD | {"max_tokens": -5}, "max_tokens: Input should be greater than or equal to 1"),
    (GOOD | {"max_tokens": "8"}, "max_tokens: Input should be a valid integer"),
    (GOOD | {"max_tokens": True}, "max_tokens: Input should be a valid integer"),
    (GOOD | {"max_tokens": None}, "max_tokens: Input should be a valid integer"),
    (without("model"), "model: Field required"),
    (without("messages"), "messages: Field required"),
    (GOOD | {"messages": []}, "messages: at least one message is required"),
    (GOOD | {"messages": "hi"}, "messages: Input should be a valid array"),
    (message(None), "messages.0.content: Input should be a string or a list of content blocks"),
    (message(7), "messages.0.content: Input should be a string or a list of content blocks"),
    (message(""), "messages.0: content must hold non-whitespace text"),
    (message([]), "messages.0: content must hold non-whitespace text"),
    (message("hi", "robot"), "messages.0.role: Input should be 'user' or 'assistant'"),
    (message("hi", "system"), 'messages.0.role: Unexpected role "system"'),
    (message([{"type": "text"}]), "messages.0.content.0.text.text: Field required"),
    (message([{"type": "document", "source": {}}]), "messages.0.content.0: `document` is not supported by this model"),
    (message([{"type": "image", "source": {}}]), "messages.0.content.0: `image` is not supported by this model"),
    (
        message([{"type": "tool_use", "id": "1", "name": "look", "input": {}}]),
        "messages.0.content.0: `tool_use`",
    ),
    (GOOD | {"top_secret": 1}, "top_secret: Extra inputs are not permitted"),
    (GOOD | {"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
    (GOOD | {"top_p": -1}, "top_p: Input should be greater than or equal to 0"),
    (GOOD | {"top_k": -1}, "top_k: Input should be greater than or equal to 0"),
    (GOOD | {"stop_sequences": "x"}, "stop_sequences: Input should be a valid array"),
    (GOOD | {"stop_sequences": ["ok", " \n"]}, "stop_sequences.1: Each stop sequence must contain non-whitespace"),
    (GOOD | {"stop_sequences": ["x"] * 129}, "stop_sequences: List should have at most 128 items"),
    (GOOD | {"stream": "yes"}, "stream: Input should be a valid boolean"),
    (GOOD | {"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking: This model does not support"),
    (GOOD | {"tools": [TOOL]}, "tool_choice: this model cannot decide by itself"),
    (GOOD | {"tools": [TOOL], "tool_choice": {"type": "auto"}}, "tool_choice: this model cannot decide by itself"),
    (GOOD | {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name: no tool of this name"),
    (GOOD | {"tools": [TOOL, TOOL], "tool_choice": {"type": "any"}}, "tools: tool names must be unique"),
    (GOOD | {"tool_choice": {"type": "any"}}, "tool_choice: may only be given together with tools"),
    (GOOD | {"tools": [{"type": "web_search_20250305", "name": "s"}]}, "tools.0.input_schema: Field required"),
    (GOOD | {"tools": [{"name": "s", "input_schema": {"type": "string"}}]}, "tools.0.input_schema: type"),
    (GOOD | {"output_config": {"format": {"type": "xml", "schema": {}}}}, "output_config.format.type"),
    (GOOD | {"output_config": {"effort": "high"}}, "output_config.effort"),
]


@pytest.mark.parametrize(("body", "expected"), CASES, ids=[expected[:60] for _, expected in CASES])
def test_a_wrong_field_is_named(backend: str, engine: ScriptedEngine, body: dict[str, Any], expected: str) -> None:
    before = len(engine.requests)
    assert refusal(post(backend, body), 400, "invalid_request_error").startswith(expected)
    assert len(engine.requests) == before


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "The request body is not valid JSON: EOF"),
        (b"{", "The request body is not valid JSON: EOF"),
        (b"[]", "Input should be an object"),
        (b"\xff\xfe", "The request body is not valid JSON"),
        (b'{"model": "\xff"}', "The request body is not valid JSON: invalid unicode code point at line 1 column 12"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(backend: str, body: bytes, expected: str) -> None:
    assert refusal(post(backend, body), 400, "invalid_request_error").startswith(expected)


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00", "\\ud800x"])
def test_a_lone_surrogate_is_refused_with_its_position(backend: str, escape: str) -> None:
    body = json.dumps(GOOD).replace("hi", f"hi {escape}").encode()
    message = refusal(post(backend, body), 400, "invalid_request_error")
    assert "lone surrogate" in message
    assert "line 1 column" in message


def test_a_paired_surrogate_is_a_character(backend: str, engine: ScriptedEngine) -> None:
    body = json.dumps(GOOD).replace("hi", "\\ud83d\\ude42").encode()
    assert post(backend, body).status_code == 200
    assert engine.requests[-1]["messages"][-1]["content"] == "🙂"


@pytest.mark.parametrize("text", ["a\x00b", "e\u0301", "\ufeffx", "one\r\ntwo ", "  both ends  "])
def test_text_reaches_the_engine_as_it_was_sent(backend: str, engine: ScriptedEngine, text: str) -> None:
    assert post(backend, message(text) | {"system": text}).status_code == 200
    assert [turn["content"] for turn in engine.requests[-1]["messages"]] == [text, text]


def test_three_megabytes_of_text_are_read(backend: str) -> None:
    refused = refusal(post(backend, message("word " * 600_000)), 400, "invalid_request_error")
    assert refused == "prompt is too long: at least 5859 tokens > 4096 maximum"


def test_a_prompt_that_may_or_may_not_fit_is_counted(backend: str) -> None:
    refused = refusal(post(backend, message("word " * 5_000)), 400, "invalid_request_error")
    assert refused == "prompt is too long: 5000 tokens > 4096 maximum"


def test_a_body_over_the_limit_is_too_large(backend: str) -> None:
    message = refusal(post(backend, b" " * (32 * 1024 * 1024 + 1)), 413, "request_too_large")
    assert "32 MiB" in message


def test_a_body_over_the_limit_is_too_large_without_its_length_too(backend: str) -> None:
    response = httpx2.post(
        backend + "/v1/messages",
        content=(b" " * 1_000_000 for _ in range(34)),
        headers={"x-api-key": SERVICE_KEY, "anthropic-version": OLD},
        trust_env=False,
    )
    refusal(response, 413, "request_too_large")


def test_a_compressed_body_is_refused(backend: str) -> None:
    answer = post(backend, GOOD, **{"content-encoding": "gzip"})
    assert refusal(answer, 400, "invalid_request_error").startswith("content-encoding")


@pytest.mark.parametrize("version", [None, "2019-01-01", ""])
def test_a_missing_or_unknown_version_is_refused(backend: str, version: str | None) -> None:
    headers = {"x-api-key": SERVICE_KEY} | ({} if version is None else {"anthropic-version": version})
    response = httpx2.post(backend + "/v1/messages", json=GOOD, headers=headers, trust_env=False)
    assert refusal(response, 400, "invalid_request_error").startswith("anthropic-version: ")


@pytest.mark.parametrize("field", ["temperature", "top_p", "top_k"])
def test_sampling_belongs_to_the_older_version(backend: str, engine: ScriptedEngine, field: str) -> None:
    value = 1 if field == "top_k" else 0.5
    assert post(backend, GOOD | {field: value}, version=OLD).status_code == 200
    assert engine.requests[-1][field] == value
    refused = refusal(post(backend, GOOD | {field: value}, version=NEW), 400, "invalid_request_error")
    assert refused.startswith(f"{field}: not supported by anthropic-version 2026-10-21")


def test_a_prefill_that_ends_in_blanks_is_refused(backend: str) -> None:
    turns = [*GOOD["messages"], {"role": "assistant", "content": "Sure: "}]
    refused = refusal(post(backend, GOOD | {"messages": turns}), 400, "invalid_request_error")
    assert refused == "messages: final assistant content cannot end with trailing whitespace"


def test_an_empty_prefill_is_none(backend: str, engine: ScriptedEngine) -> None:
    turns = [*GOOD["messages"], {"role": "assistant", "content": ""}]
    assert post(backend, GOOD | {"messages": turns}).status_code == 200
    assert [turn["role"] for turn in engine.requests[-1]["messages"]] == ["user"]


def test_neighbouring_turns_of_one_role_become_one(backend: str, engine: ScriptedEngine) -> None:
    turns = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    assert post(backend, GOOD | {"messages": turns}).status_code == 200
    assert [turn["content"] for turn in engine.requests[-1]["messages"]] == ["one\ntwo"]


def test_what_the_sdk_sends_back_of_an_answer_is_understood(backend: str) -> None:
    with anthropic.Anthropic(base_url=backend, api_key=SERVICE_KEY, max_retries=0) as client:
        first = client.messages.create(**GOOD)
        again = client.messages.create(
            model=MODEL,
            max_tokens=8,
            messages=[*GOOD["messages"], {"role": "assistant", "content": first.content}, *GOOD["messages"]],
        )
    assert again.stop_reason == "end_turn"


def test_fields_without_effect_here_are_taken(backend: str) -> None:
    marked = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    extra = {
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
        "thinking": {"type": "disabled"},
        "system": [marked],
        "cache_control": {"type": "ephemeral"},
    }
    assert post(backend, message([marked]) | extra).status_code == 200


def test_counting_takes_no_max_tokens(backend: str) -> None:
    counted = post(backend, without("max_tokens"), path="/v1/messages/count_tokens")
    assert counted.json() == {"input_tokens": 1}
    refused = post(backend, GOOD, path="/v1/messages/count_tokens")
    assert refusal(refused, 400, "invalid_request_error") == "max_tokens: Extra inputs are not permitted"


def test_unknown_addresses_and_methods_answer_in_the_same_shape(backend: str) -> None:
    refusal(httpx2.get(backend + "/v1/nothing", trust_env=False), 404, "not_found_error")
    refusal(httpx2.get(backend + "/v1/messages", trust_env=False), 405, "invalid_request_error")


def test_the_sdk_raises_its_own_error_with_our_words(backend: str) -> None:
    with (
        anthropic.Anthropic(base_url=backend, api_key=SERVICE_KEY, max_retries=0) as client,
        pytest.raises(anthropic.BadRequestError) as raised,
    ):
        client.messages.create(**(GOOD | {"max_tokens": -1}))
    assert raised.value.type == "invalid_request_error"
    assert "max_tokens" in str(raised.value)
    assert (raised.value.request_id or "").startswith("req_")
