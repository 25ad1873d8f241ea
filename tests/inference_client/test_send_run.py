"""What comes of a run, for each way a model server can behave."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from pytest_django import Settings

from accounts.models import User
from inference_client import sending as exchange
from inference_client.models import Run, RunStatus
from inference_client.services import create_run
from tests.inference_client.conftest import API_VERSION, told
from tests.inference_client.upstream import Call, Upstream, Wire, sse
from tests.waiting import quickest

pytestmark = pytest.mark.django_db(transaction=True)

Send = Callable[[Run], Run]
MakeRun = Callable[..., Run]


async def answer_hello(call: Call, wire: Wire) -> None:
    await wire.whole("Hel", "lo")


def test_a_good_answer_succeeds(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    upstream.does(answer_hello)
    run = send(make_run())
    assert (run.status, run.output, run.stop_reason) == ("succeeded", "Hello", "end_turn")
    assert (run.input_tokens, run.output_tokens) == (7, 5)
    assert run.upstream_request_id == "req_upstream_1"
    assert run.response is not None
    assert run.response["content"] == [{"type": "text", "text": "Hello"}]
    assert run.first_token_at is not None
    assert run.finished_at is not None
    assert run.queued_at <= run.first_token_at <= run.finished_at
    assert run.lease_expires_at is None


def test_readers_are_told_each_step(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    upstream.does(answer_hello)
    run = send(make_run())
    kinds = told(run)
    assert kinds[0] == ("status", {"status": "running"})
    assert "".join(data["text"] for kind, data in kinds if kind == "text") == "Hello"
    assert kinds[-1][0] == "done"
    assert kinds[-1][1]["status"] == "succeeded"
    assert kinds[-1][1]["usage"] == {"input_tokens": 7, "output_tokens": 5}


async def think_then_call(call: Call, wire: Wire) -> None:
    await wire.begin()
    await wire.start_message()
    await wire.event("content_block_stop", index=0)
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    await wire.event("content_block_start", index=1, content_block=thinking)
    await wire.event("content_block_delta", index=1, delta={"type": "thinking_delta", "thinking": "Hm."})
    await wire.event("content_block_stop", index=1)
    tool = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    await wire.event("content_block_start", index=2, content_block=tool)
    await wire.event("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": '{"at": 1}'})
    await wire.event("content_block_stop", index=2)
    await wire.event(
        "message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 5}
    )
    await wire.event("message_stop")
    await wire.end()


def test_readers_are_told_when_the_model_thinks_or_calls_a_tool_and_the_blocks_are_kept_in_order(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    upstream.does(think_then_call)
    run = send(make_run())
    assert [data["type"] for kind, data in told(run) if kind == "block"] == ["thinking", "tool_use"]
    assert (run.status, run.output, run.stop_reason) == ("succeeded", "", "tool_use")
    assert run.response is not None
    assert [(block["type"], block.get("thinking"), block.get("input")) for block in run.response["content"][1:]] == [
        ("thinking", "Hm.", None),
        ("tool_use", None, {"at": 1}),
    ]


def test_the_request_goes_out_as_it_was_stored(upstream: Upstream, owner: User, send: Send) -> None:
    upstream.does(answer_hello)
    body: dict[str, Any] = {
        "model": "tiny",
        "max_tokens": 5,
        "temperature": 0.0,
        "top_k": 3,
        "system": [{"type": "text", "text": "a\u0000b\r\n\u2028 é e\u0301 🙂"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "tools": [{"name": "t", "input_schema": {"type": "object", "z": 1, "a": [1e-7, True, None]}}],
        "an_option_the_sdk_does_not_know": {"deep": [1]},
        "stream": True,
    }
    run = send(create_run(account=owner, body=body, api_version=API_VERSION))
    assert upstream.calls[0].body == run.request.encode()
    assert rfc8785.dumps(upstream.calls[0].json) == rfc8785.dumps(body)


def test_the_headers_name_run_account_tier_and_version(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    upstream.does(answer_hello)
    run = send(make_run())
    headers = upstream.calls[0].headers
    assert headers["idempotency-key"] == str(run.pk)
    assert headers["x-playground-account"] == str(run.account_id)
    assert headers["x-playground-tier"] == "free"
    assert headers["anthropic-version"] == API_VERSION
    assert headers["authorization"] == "Bearer sk-test"


def test_a_socket_cut_in_the_middle_fails_with_the_text_so_far(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("Half an ")
        wire.cut()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "stream_cut", "Half an ")
    assert told(run)[-1][1]["error"]["code"] == "stream_cut"


def test_an_end_without_message_stop_fails(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("Half")
        await wire.end()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "stream_cut", "Half")


def test_a_message_stop_without_a_stop_reason_fails(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("Half")
        await wire.stop_message(None)

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "stream_cut", "Half")


def test_an_error_event_after_two_deltas_fails_with_the_text_so_far(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("one ", "two")
        await wire.event("error", error={"type": "overloaded_error", "message": "Overloaded"})
        await wire.end()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "upstream_overloaded", "one two")
    assert run.stop_reason == ""
    assert len(upstream.calls) == 1


def test_an_error_event_right_after_message_start_is_no_empty_success(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.event("error", error={"type": "api_error", "message": "The GPU fell over"})
        await wire.end()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "upstream_error", "")
    assert "The GPU fell over" in run.error_message


def test_an_emoji_sent_one_byte_a_chunk_arrives_whole(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        for byte in sse("content_block_delta", index=0, delta={"type": "text_delta", "text": "né 👩‍🚀 ok"}):
            await wire.chunk(bytes([byte]))
        await wire.stop_message()

    upstream.does(script)
    run = send(make_run())
    assert run.output == "né 👩‍🚀 ok"
    assert told(run)[1] == ("text", {"offset": 0, "text": "né 👩‍🚀 ok"})


def test_an_emoji_split_into_escapes_over_two_deltas_arrives_whole(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        for half in ("\\ud83d", "\\ude42!"):
            await wire.chunk(
                sse("content_block_delta", index=0, delta={"type": "text_delta", "text": "@"}).replace(
                    b"@", half.encode()
                )
            )
        await wire.stop_message()

    upstream.does(script)
    run = send(make_run())
    assert run.status == "succeeded"
    assert run.output == "🙂!"
    assert run.response is not None
    assert run.response["content"][0]["text"] == "🙂!"


def test_half_a_character_becomes_a_replacement_character(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.chunk(
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
            b'"delta":{"type":"text_delta","text":"a\\ud83d"}}\n\n'
        )
        await wire.stop_message()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.output) == ("succeeded", "a\ufffd")


def test_a_nul_in_the_output_is_kept(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.whole("a\x00b")

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.output) == ("succeeded", "a\x00b")


def test_no_text_with_a_stop_reason_is_an_empty_success(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.whole(reason="max_tokens")

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.output, run.stop_reason) == ("succeeded", "", "max_tokens")


def test_a_refused_request_fails_with_the_upstreams_own_words(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.error(400, "invalid_request_error", "max_tokens: 99999 > 4096")

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code) == ("failed", "invalid_request")
    assert "max_tokens: 99999 > 4096" in run.error_message
    assert run.response == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "max_tokens: 99999 > 4096"},
    }


def test_a_refused_key_fails_as_unauthorized_and_is_not_shown(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.error(401, "authentication_error", "invalid x-api-key sk-test")

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code) == ("failed", "unauthorized")
    assert "sk-test" not in run.error_message


def test_a_dead_backend_fails_at_once_with_a_clear_error(make_run: MakeRun, send: Send, settings: Settings) -> None:
    settings.INFERENCE_BASE_URL = "http://127.0.0.1:1"

    def ask() -> float:
        asked_at = time.monotonic()
        run = send(make_run())
        assert (run.status, run.error_code) == ("failed", "inference_unavailable")
        return time.monotonic() - asked_at

    assert quickest(ask, under_s=2) < 2


def test_an_answer_that_is_no_json_fails_as_unreadable(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("ok ")
        await wire.chunk(b"event: content_block_delta\ndata: {not json\n\n")
        await wire.stop_message()

    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "upstream_error", "ok ")


def test_a_delta_for_a_block_that_never_began_fails_as_unreadable(
    upstream: Upstream, make_run: MakeRun, send: Send
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.event("content_block_delta", index=9, delta={"type": "text_delta", "text": "x"})
        await wire.stop_message()

    upstream.does(script)
    assert send(make_run()).error_code == "upstream_error"


def test_silence_in_the_middle_ends_in_a_timeout_with_the_text_so_far(
    upstream: Upstream, make_run: MakeRun, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("then ")
        await wire.until_left()

    monkeypatch.setattr(exchange, "BETWEEN_BYTES_S", 0.3)
    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "timeout", "then ")


def test_pings_keep_a_slow_answer_alive(
    upstream: Upstream, make_run: MakeRun, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        for _ in range(6):
            await asyncio.sleep(0.4)
            await wire.event("ping")
        await wire.text("at last")
        await wire.stop_message()

    monkeypatch.setattr(exchange, "BETWEEN_BYTES_S", 2)
    upstream.does(script)
    assert send(make_run()).output == "at last"


def test_a_run_that_takes_too_long_is_ended_and_its_connection_closed(
    upstream: Upstream, make_run: MakeRun, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.begin()
        await wire.start_message()
        await wire.text("on and on")
        await wire.until_left()

    monkeypatch.setattr(exchange, "TOTAL_S", 0.5)
    upstream.does(script)
    run = send(make_run())
    assert (run.status, run.error_code, run.output) == ("failed", "timeout", "on and on")
    assert upstream.calls[0].left_at is not None


def test_nothing_private_is_logged(
    upstream: Upstream, make_run: MakeRun, send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(call: Call, wire: Wire) -> None:
        await wire.whole("the-secret-answer")

    upstream.does(script)
    with caplog.at_level(logging.DEBUG):
        send(make_run(messages=[{"role": "user", "content": "the-secret-question"}]))
    logged = "".join(f"{record.getMessage()}{record.__dict__}" for record in caplog.records)
    assert "run ended" in logged
    for private in ("the-secret-answer", "the-secret-question", "sk-test"):
        assert private not in logged


def test_every_status_is_one_that_ends(upstream: Upstream, make_run: MakeRun, send: Send) -> None:
    upstream.does(answer_hello)
    run = send(make_run())
    assert run.status == RunStatus.SUCCEEDED
    before = run.finished_at
    assert send(run).finished_at == before, "a second message for the same run does nothing"
    assert len(upstream.calls) == 1
