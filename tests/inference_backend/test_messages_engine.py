"""A server with the Messages API as an engine: this service in front of itself, and of the real engine's own route."""

import contextlib
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from inference_backend.engines.messages import MessagesEngine
from inference_backend.engines.protocol import GenerationRequest, Turn
from inference_backend.errors import EngineError
from tests.inference_backend.conftest import impatient, sdk, settings_for
from tests.inference_backend.running import EMBEDDED_MODEL, SERVICE_KEY, EmbeddedEngine, answers, running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    End,
    Hang,
    Refuse,
    Reset,
    ScriptedEngine,
    finish,
    frame,
    text,
    usage,
)
from tests.waiting import wait_until

GOOD: dict[str, Any] = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
TOOL = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture(scope="module")
def far_engine() -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine()
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def chained(far_engine: ScriptedEngine) -> Iterator[str]:
    """A service whose engine is a service whose engine is scripted."""
    with (
        running_backend(impatient(far_engine)) as inner,
        running_backend(
            settings_for(
                inner,
                INFERENCE_ENGINE_KIND="messages",
                INFERENCE_ENGINE_MODEL=MODEL,
                INFERENCE_ENGINE_API_KEY=SERVICE_KEY,
                INFERENCE_FIRST_TOKEN_TIMEOUT_S=20,
                INFERENCE_TOKEN_GAP_TIMEOUT_S=10,
            )
        ) as outer,
    ):
        yield outer


@pytest.fixture
def client(far_engine: ScriptedEngine, chained: str) -> Iterator[anthropic.Anthropic]:
    far_engine.forget()
    wait_until(lambda: answers(f"{chained}/readyz"))
    with sdk(chained) as connected:
        yield connected


def test_text_usage_and_the_reason_to_stop_come_through(
    far_engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    far_engine.play(text("Grüße "), text("🙂"), finish("length"), usage(7, 2), DONE, End())
    message = client.messages.create(**GOOD | {"max_tokens": 2})
    assert message.content[0].text == "Grüße 🙂"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 2)
    assert message.stop_reason == "max_tokens"
    assert message.id.startswith("msg_")


def test_a_stream_comes_through_piece_by_piece(far_engine: ScriptedEngine, client: anthropic.Anthropic) -> None:
    far_engine.play(text("one"), text(" two"), finish(), usage(5, 2), DONE, End())
    with client.messages.stream(**GOOD) as stream:
        assert list(stream.text_stream) == ["one", " two"]
        assert stream.get_final_message().stop_reason == "end_turn"


def test_system_prefill_and_sampling_are_passed_on(far_engine: ScriptedEngine, client: anthropic.Anthropic) -> None:
    turns = [*GOOD["messages"], {"role": "assistant", "content": "Well"}]
    client.messages.create(
        **GOOD | {"messages": turns, "system": "Be brief."},
        extra_body={"temperature": 0.5, "top_k": 3},
        extra_headers={"anthropic-version": "2023-06-01"},
    )
    [body] = far_engine.requests
    assert [turn["content"] for turn in body["messages"]] == ["Be brief.", "hi", "Well"]
    assert (body["temperature"], body["top_k"]) == (0.5, 3)


def test_a_forced_tool_comes_through(far_engine: ScriptedEngine, client: anthropic.Anthropic) -> None:
    far_engine.play(text('{"city": '), text('"Paris"}'), finish(), usage(5, 4), DONE, End())
    message = client.messages.create(**GOOD | {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "get_weather"}})
    [block] = message.content
    assert (block.type, block.name, block.input) == ("tool_use", "get_weather", {"city": "Paris"})
    assert message.stop_reason == "tool_use"


def test_a_schema_is_passed_on(far_engine: ScriptedEngine, client: anthropic.Anthropic) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    client.messages.create(**GOOD, output_config={"format": {"type": "json_schema", "schema": schema}})
    assert far_engine.requests[0]["response_format"]["json_schema"]["schema"] == schema


def test_a_stop_sequence_is_matched_here_and_lets_the_engine_go(
    far_engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    far_engine.play(text("A B"), text(" C"), Hang())
    message = client.messages.create(**GOOD, stop_sequences=["B C"])
    assert message.content[0].text == "A "
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "B C")
    assert far_engine.caller_left.wait(30)


def test_tokens_are_counted_by_the_engine(client: anthropic.Anthropic) -> None:
    count = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "one two three"}])
    assert count.input_tokens == 3


def test_an_answer_that_breaks_off_there_is_an_error_here(
    far_engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    far_engine.play(text("one"), Reset())
    with pytest.raises(anthropic.APIStatusError) as raised, client.messages.stream(**GOOD) as stream:
        stream.until_done()
    assert raised.value.type == "api_error"


def test_a_failure_there_before_the_first_token_keeps_its_kind(
    far_engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    far_engine.play(Refuse(500, "secret detail"))
    with pytest.raises(anthropic.InternalServerError) as raised:
        client.messages.create(**GOOD)
    assert (raised.value.status_code, raised.value.type) == (500, "api_error")
    assert "secret" not in str(raised.value)


def test_a_prompt_that_is_too_long_there_is_the_callers_error_with_its_sizes(
    far_engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    body = '{"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}'
    far_engine.play(Refuse(400, body))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 9000 tokens > 4096 maximum"):
        client.messages.create(**GOOD)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (['{"type": "message_stop"}'], "without saying why"),
        (['{"type": "message_start"}'], "unexpected shape"),
        (['{"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}}'], "unexpected shape"),
        (['{"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{"}}'], "no tool"),
        (['{"type": "content_block_start", "content_block": {"type": "tool_use"}}'], "without a name"),
        (['{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}'], "too much to do"),
        (['{"type": "error", "error": {"type": "api_error", "message": "secret"}}'], "failed during"),
        (['{"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}'], "gave up"),
        (['{"type": "ping"}', '{"type": "unheard_of"}'], "before it was complete"),
        (["[1]"], "unexpected shape"),
        (["{"], "not JSON"),
    ],
)
async def test_events_that_make_no_sense_are_errors_of_the_engine(
    own_engine: ScriptedEngine, events: list[str], told: str
) -> None:
    own_engine.play(*(frame(event) for event in events), End())
    engine = MessagesEngine(url=own_engine.url, model=MODEL, api_key=None, connect_s=1.0)
    request = GenerationRequest(turns=(Turn(role="user", text="hi"),), max_tokens=5)
    with pytest.raises(EngineError, match=told) as raised:
        await read_to_the_end(engine, request)
    await engine.aclose()
    assert "secret" not in raised.value.message


async def read_to_the_end(engine: MessagesEngine, request: GenerationRequest) -> None:
    async with contextlib.aclosing(engine.generate(request)) as answer:
        async for _ in answer:
            pass


@pytest.mark.model
def test_the_real_engine_is_served_through_its_own_messages_route(embedded_engine: EmbeddedEngine) -> None:
    settings = settings_for(
        embedded_engine.url, INFERENCE_ENGINE_KIND="messages", INFERENCE_ENGINE_MODEL=EMBEDDED_MODEL
    )
    with running_backend(settings) as address, sdk(address) as client:
        question = [{"role": "user", "content": "What is the capital of France? One sentence."}]
        with client.messages.stream(
            model=EMBEDDED_MODEL,
            max_tokens=20,
            messages=question,  # type: ignore[arg-type]
            extra_body={"temperature": 0},
            extra_headers={"anthropic-version": "2023-06-01"},
        ) as stream:
            said = "".join(stream.text_stream)
            message = stream.get_final_message()
    assert "Paris" in said
    assert message.usage.input_tokens > 5
    assert message.usage.output_tokens > 3
    assert message.id.startswith("msg_")
