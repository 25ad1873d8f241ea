"""What the caller sees when the engine misbehaves: never a clean end of a broken answer."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from inference_backend import event_stream
from tests.inference_backend.running import SERVICE_KEY, answers
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    Await,
    Close,
    End,
    Hang,
    Pause,
    Refuse,
    Reset,
    ScriptedEngine,
    Send,
    Vanish,
    byte_by_byte,
    finish,
    frame,
    text,
    usage,
    whole,
)
from tests.waiting import wait_until

HEADERS = {"x-api-key": SERVICE_KEY, "anthropic-version": "2023-06-01"}
GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}


def create(client: anthropic.Anthropic) -> str:
    message: anthropic.types.Message = client.messages.create(**GOOD)
    [block] = message.content
    assert block.type == "text"
    return block.text


def read_stream(client: anthropic.Anthropic) -> Iterator[str]:
    with client.messages.create(**GOOD, stream=True) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text


def raw_stream(address: str) -> tuple[int, list[str]]:
    """(status, names of the events)."""
    response = httpx2.post(
        f"{address}/v1/messages", json=GOOD | {"stream": True}, headers=HEADERS, trust_env=False, timeout=30
    )
    return response.status_code, [
        line.removeprefix("event: ") for line in response.text.splitlines() if line.startswith("event: ")
    ]


def test_characters_split_over_chunks_arrive_whole(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(*byte_by_byte(whole("Grüße 🙂 日本")))
    assert create(scripted_client) == "Grüße 🙂 日本"
    engine.play(*byte_by_byte(whole("Grüße 🙂 日本")))
    assert "".join(read_stream(scripted_client)) == "Grüße 🙂 日本"


def test_half_a_frame_waits_for_its_other_half(engine: ScriptedEngine, scripted_client: anthropic.Anthropic) -> None:
    first, *rest = whole("whole")
    assert isinstance(first, Send)
    engine.play(Send(first.data[:20]), Pause(0.1), Send(first.data[20:]), *rest)
    assert create(scripted_client) == "whole"


def test_comments_and_unknown_frames_are_harmless(engine: ScriptedEngine, scripted_client: anthropic.Anthropic) -> None:
    engine.play(Send(b": hello\r\n\r\n"), frame({"object": "note"}), Send(b"event: ping\n\n"), *whole("fine"))
    assert create(scripted_client) == "fine"


@pytest.mark.parametrize(
    "garbage",
    [
        frame("{not json"),
        frame("[1, 2]"),
        frame({"choices": "none"}),
        frame({"choices": [{"delta": {"content": 5}}]}),
        Send(b"data: \xff\n\n"),
    ],
)
def test_garbage_after_the_first_token_ends_in_an_error_event(
    engine: ScriptedEngine, backend: str, garbage: Send
) -> None:
    engine.play(text("one"), garbage, *whole("more"))
    status, events = raw_stream(backend)
    assert status == 200
    assert events == ["message_start", "content_block_start", "content_block_delta", "error"]


def test_garbage_instead_of_an_answer_is_asked_again_unseen(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(frame("{not json"), End())
    assert create(scripted_client) == "Hello there"


def test_garbage_twice_instead_of_an_answer_is_an_api_error(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(frame("{not json"), End())
    engine.play(frame("{not json"), End())
    with pytest.raises(anthropic.InternalServerError) as raised:
        create(scripted_client)
    assert (raised.value.status_code, raised.value.type) == (500, "api_error")


@pytest.mark.parametrize("ending", [Reset(), Close(), End()])
def test_an_answer_that_breaks_off_ends_in_an_error_event(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, ending: Reset | Close | End
) -> None:
    engine.play(text("one"), text(" two"), Pause(0.05), ending)
    said: list[str] = []
    with pytest.raises(anthropic.APIStatusError) as raised:
        said.extend(read_stream(scripted_client))
    assert raised.value.type == "api_error"
    assert raised.value.body == {
        "type": "error",
        "error": {
            "type": "api_error",
            "message": raised.value.body["error"]["message"],  # type: ignore[index]
            "details": {"error_code": "replica_lost"},
        },
        "request_id": raised.value.body["request_id"],  # type: ignore[index]
    }
    assert len(engine.requests) == 1


@pytest.mark.parametrize("ending", [Reset(), Close(), End()])
def test_an_answer_that_breaks_off_is_no_short_message(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, ending: Reset | Close | End
) -> None:
    engine.play(text("one"), Pause(0.05), ending)
    with pytest.raises(anthropic.InternalServerError):
        create(scripted_client)
    assert len(engine.requests) == 1


@pytest.mark.parametrize("fault", [[Vanish()], [Pause(0.05), Reset()], [Send(b": hello\n\n"), Close()]])
def test_a_request_lost_before_its_first_token_is_sent_once_more_unseen(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, fault: list[Any]
) -> None:
    engine.play(*fault)
    assert create(scripted_client) == "Hello there"
    assert len(engine.requests) == 2
    engine.play(*fault)
    assert "".join(read_stream(scripted_client)) == "Hello there"


def test_a_request_lost_twice_is_an_overload_with_a_time_to_wait(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(Vanish())
    engine.play(Vanish())
    with pytest.raises(anthropic.InternalServerError) as raised:
        create(scripted_client)
    assert (raised.value.status_code, raised.value.type) == (529, "overloaded_error")
    assert raised.value.response.headers["retry-after"] == "2"
    assert len(engine.requests) == 2


def test_an_engine_that_hangs_before_its_first_token_is_asked_again_unseen(
    engine: ScriptedEngine, impatient_client: anthropic.Anthropic
) -> None:
    engine.play(Hang())
    assert create(impatient_client) == "Hello there"
    assert engine.caller_left.wait(30)


def test_an_engine_that_hangs_twice_before_its_first_token_times_out(
    engine: ScriptedEngine, impatient_client: anthropic.Anthropic
) -> None:
    engine.play(Hang())
    engine.play(Hang())
    with pytest.raises(anthropic.APIStatusError) as raised:
        create(impatient_client)
    assert (raised.value.status_code, raised.value.type) == (504, "timeout_error")
    assert engine.caller_left.wait(30)


def test_an_engine_that_hangs_between_tokens_ends_in_an_error_event(
    engine: ScriptedEngine, impatient_backend: str
) -> None:
    engine.play(text("one"), Hang())
    _, events = raw_stream(impatient_backend)
    assert events[-1] == "error"
    assert engine.caller_left.wait(30)


def test_a_slow_first_token_is_covered_by_an_open_stream_with_a_ping(engine: ScriptedEngine, backend: str) -> None:
    opened = threading.Event()
    engine.play(Await(opened), *whole("late"))
    started = time.monotonic()
    with httpx2.stream(
        "POST", f"{backend}/v1/messages", json=GOOD | {"stream": True}, headers=HEADERS, trust_env=False, timeout=30
    ) as response:
        assert time.monotonic() - started > 0.9, "an engine that is quick enough has its status told"
        opened.set()
        lines = list(response.iter_lines())
    events = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert events[:4] == ["message_start", "ping", "content_block_start", "content_block_delta"]
    assert events[-1] == "message_stop"


def test_an_error_within_the_first_second_keeps_its_status(
    engine: ScriptedEngine, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine keeps a thread from its turn for as long.
    monkeypatch.setattr(event_stream, "HOLD_S", 30.0)
    engine.play(Pause(0.05), frame({"error": {"code": 500, "message": "secret detail"}}), End())
    status, events = raw_stream(backend)
    assert (status, events) == (500, [])


def test_an_error_that_the_engine_streams_is_passed_on_without_its_words(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(text("one"), frame({"error": {"code": 500, "message": "secret detail"}}), End())
    with pytest.raises(anthropic.APIStatusError) as raised:
        list(read_stream(scripted_client))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("refused", "status", "kind"),
    [
        (Refuse(500, "boom"), 500, "api_error"),
        (Refuse(404, '{"error": {"message": "no such route"}}'), 500, "api_error"),
        (Refuse(401, '{"error": {"message": "bad key"}}'), 500, "api_error"),
        (Refuse(400, '{"error": {"code": 400, "message": "bad grammar"}}'), 400, "invalid_request_error"),
        (Refuse(400, "<html>"), 400, "invalid_request_error"),
    ],
)
def test_a_status_of_the_engine_becomes_one_of_ours(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, refused: Refuse, status: int, kind: str
) -> None:
    engine.play(refused)
    with pytest.raises(anthropic.APIStatusError) as raised:
        create(scripted_client)
    assert (raised.value.status_code, raised.value.type) == (status, kind)


def test_a_prompt_that_the_engine_finds_too_long_is_the_callers_error(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    body = '{"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}'
    engine.play(Refuse(400, body))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 9000 tokens > 4096 maximum"):
        create(scripted_client)


def test_an_unknown_way_to_stop_is_an_error(engine: ScriptedEngine, backend: str) -> None:
    engine.play(text("one"), finish("abort"), DONE, End())
    assert raw_stream(backend)[1][-1] == "error"


def test_a_count_of_zero_is_kept_and_a_missing_one_is_estimated(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(text("one"), finish(), usage(5, 0), DONE, End())
    assert scripted_client.messages.create(**GOOD).usage.output_tokens == 0
    engine.play(text("one"), text(" two"), finish(), DONE, End())
    assert scripted_client.messages.create(**GOOD).usage.output_tokens == 2


def test_an_empty_answer_is_a_message_without_content(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, backend: str
) -> None:
    engine.play(finish(), usage(5, 0), DONE, End())
    message = scripted_client.messages.create(**GOOD)
    assert (message.content, message.stop_reason) == ([], "end_turn")
    engine.play(finish(), usage(5, 0), DONE, End())
    assert raw_stream(backend)[1] == ["message_start", "message_delta", "message_stop"]


def test_a_stop_sequence_is_found_over_chunks_and_the_engine_is_let_go(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(text("N "), text("O"), text(" P"), text(" Q"), text(" R"), Hang())
    message = scripted_client.messages.create(**GOOD, stop_sequences=["O P Q"])
    assert message.content[0].text == "N "
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "O P Q")
    assert engine.caller_left.wait(30)


def test_text_held_back_for_a_stop_sequence_is_delivered_at_the_end(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic
) -> None:
    engine.play(text("A"), text("B"), finish(), usage(5, 2), DONE, End())
    message = scripted_client.messages.create(**GOOD, stop_sequences=["BC"])
    assert message.content[0].text == "AB"
    assert message.stop_reason == "end_turn"


def test_a_dead_engine_is_an_overload_and_its_return_is_noticed(
    engine: ScriptedEngine, scripted_client: anthropic.Anthropic, backend: str
) -> None:
    engine.stop()
    with pytest.raises(anthropic.InternalServerError) as raised:
        create(scripted_client)
    assert (raised.value.status_code, raised.value.type) == (529, "overloaded_error")
    assert answers(f"{backend}/healthz")
    wait_until(lambda: not answers(f"{backend}/readyz"))
    engine.start()
    wait_until(lambda: answers(f"{backend}/readyz"))
    assert create(scripted_client) == "Hello there"
