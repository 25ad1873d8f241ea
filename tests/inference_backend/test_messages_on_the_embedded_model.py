"""The official SDK against the real model. Order, counts and shapes; never speed, never wisdom."""

import json
from typing import Any

import anthropic
import pytest

from tests.inference_backend.conftest import sdk
from tests.inference_backend.running import EMBEDDED_MODEL, SERVICE_KEY

pytestmark = pytest.mark.model

OLD = {"anthropic-version": "2023-06-01"}
GREEDY: dict[str, Any] = {"extra_headers": OLD, "extra_body": {"temperature": 0.0}}
QUESTION = "What is the capital of France? Answer in one sentence."
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
TIME = {"name": "get_time", "input_schema": {"type": "object", "properties": {}, "additionalProperties": False}}


def ask(client: anthropic.Anthropic, content: str = QUESTION, **more: Any) -> anthropic.types.Message:
    defaults: dict[str, Any] = {
        "model": EMBEDDED_MODEL,
        "max_tokens": 24,
        "messages": [{"role": "user", "content": content}],
    }
    return client.messages.create(**(defaults | more))  # type: ignore[no-any-return]


def said(message: anthropic.types.Message) -> str:
    [block] = message.content
    assert block.type == "text"
    return block.text


def test_a_message_is_answered(client: anthropic.Anthropic) -> None:
    message = ask(client, **GREEDY)
    assert "Paris" in said(message)
    assert message.id.startswith("msg_")
    assert (message.type, message.role, message.model) == ("message", "assistant", EMBEDDED_MODEL)
    assert message.stop_reason == "end_turn"
    assert message.stop_sequence is None
    assert message.usage.input_tokens > 0
    assert 0 < message.usage.output_tokens <= 24


def test_the_version_of_this_sdk_works_without_sampling(client: anthropic.Anthropic) -> None:
    assert said(ask(client))


def test_every_answer_has_a_request_id(client: anthropic.Anthropic) -> None:
    assert (ask(client, max_tokens=1)._request_id or "").startswith("req_")


def test_a_stream_has_the_events_of_the_api_in_their_order(client: anthropic.Anthropic) -> None:
    stream = client.messages.create(
        model=EMBEDDED_MODEL, max_tokens=12, messages=[{"role": "user", "content": QUESTION}], stream=True, **GREEDY
    )
    kinds = [event.type for event in stream]
    deltas = kinds.count("content_block_delta")
    assert deltas > 1
    assert kinds == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * deltas,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_stream_says_the_same_as_the_whole_message(client: anthropic.Anthropic) -> None:
    whole = ask(client, **GREEDY)
    with client.messages.stream(
        model=EMBEDDED_MODEL,
        max_tokens=24,
        messages=[{"role": "user", "content": QUESTION}],
        **GREEDY,
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == said(whole) == said(final)
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert final.usage.input_tokens == whole.usage.input_tokens
    assert final.stop_reason == whole.stop_reason


def test_a_stream_knows_the_size_of_the_prompt_from_its_start(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model=EMBEDDED_MODEL, messages=[{"role": "user", "content": QUESTION}])
    stream = client.messages.create(
        model=EMBEDDED_MODEL, max_tokens=2, messages=[{"role": "user", "content": QUESTION}], stream=True, **GREEDY
    )
    first, *rest = list(stream)
    assert first.type == "message_start"
    assert first.message.usage.input_tokens == counted.input_tokens
    [delta] = [event for event in rest if event.type == "message_delta"]
    assert delta.usage.output_tokens == 2


async def test_the_asynchronous_client_streams_too(model_backend: str) -> None:
    async with (
        anthropic.AsyncAnthropic(base_url=model_backend, api_key=SERVICE_KEY, max_retries=0) as client,
        client.messages.stream(
            model=EMBEDDED_MODEL, max_tokens=4, messages=[{"role": "user", "content": QUESTION}], **GREEDY
        ) as stream,
    ):
        pieces = [piece async for piece in stream.text_stream]
        final = await stream.get_final_message()
    assert "".join(pieces) == said(final)
    assert final.stop_reason == "max_tokens"
    assert final.usage.output_tokens == 4


def test_the_key_may_come_as_x_api_key_with_the_old_version(model_backend: str) -> None:
    headers = {"x-api-key": SERVICE_KEY, "authorization": anthropic.omit, "anthropic-version": "2023-06-01"}
    with sdk(model_backend, default_headers=headers) as client:
        assert said(ask(client, max_tokens=2))


def test_reaching_max_tokens_is_said(client: anthropic.Anthropic) -> None:
    message = ask(client, "Count from one to one hundred.", max_tokens=5, **GREEDY)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 5


def test_a_stop_sequence_ends_the_answer_before_itself(client: anthropic.Anthropic) -> None:
    whole = said(ask(client, **GREEDY))
    words = whole.split(" ")
    stop = " ".join(words[2:4])
    message = ask(client, stop_sequences=["never said", stop], **GREEDY)
    assert said(message) == whole[: whole.index(stop)]
    assert message.stop_reason == "stop_sequence"
    assert message.stop_sequence == stop
    assert message.usage.output_tokens > 0


def test_a_stop_sequence_ends_a_stream_before_itself(client: anthropic.Anthropic) -> None:
    with client.messages.stream(
        model=EMBEDDED_MODEL,
        max_tokens=24,
        messages=[{"role": "user", "content": QUESTION}],
        stop_sequences=["Paris"],
        **GREEDY,
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert "Paris" not in text
    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", "Paris")


def test_the_system_prompt_reaches_the_model(client: anthropic.Anthropic) -> None:
    plain = ask(client, max_tokens=1).usage.input_tokens
    guided = ask(client, max_tokens=1, system="word " * 60).usage.input_tokens
    in_blocks = ask(client, max_tokens=1, system=[{"type": "text", "text": "word " * 60}]).usage.input_tokens
    assert guided > plain + 30
    assert in_blocks == guided


def test_earlier_turns_reach_the_model(client: anthropic.Anthropic) -> None:
    turns = [
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": [{"type": "text", "text": "Nice to meet you, Ada."}]},
        {"role": "user", "content": QUESTION},
    ]
    whole = ask(client, messages=turns, max_tokens=1).usage.input_tokens
    assert whole > ask(client, max_tokens=1).usage.input_tokens + 10


def test_an_answer_continues_the_prefill_and_does_not_repeat_it(client: anthropic.Anthropic) -> None:
    turns = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "The capital of France is the city"},
    ]
    text = said(ask(client, messages=turns, max_tokens=6, **GREEDY))
    assert text.startswith(" of Paris")


def test_a_schema_binds_the_answer(client: anthropic.Anthropic) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    config = {"format": {"type": "json_schema", "schema": schema}}
    message = ask(client, "Give me a person.", max_tokens=100, output_config=config, **GREEDY)
    assert set(json.loads(said(message))) == {"name", "age"}


def test_a_schema_that_the_engine_cannot_read_is_the_callers_error(client: anthropic.Anthropic) -> None:
    config = {"format": {"type": "json_schema", "schema": {"type": "wat"}}}
    with pytest.raises(anthropic.BadRequestError, match="schema"):
        ask(client, output_config=config)


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "get_weather"}, {"type": "any"}])
def test_a_forced_tool_is_called(client: anthropic.Anthropic, choice: dict[str, str]) -> None:
    tools = [WEATHER] if choice["type"] == "any" else [TIME, WEATHER]
    message = ask(client, "Weather in Paris?", max_tokens=60, tools=tools, tool_choice=choice, **GREEDY)
    [block] = message.content
    assert block.type == "tool_use"
    assert block.id.startswith("toolu_")
    assert block.name == "get_weather"
    assert set(block.input) == {"city"}
    assert message.stop_reason == "tool_use"


def test_a_forced_tool_streams_its_arguments(client: anthropic.Anthropic) -> None:
    with client.messages.stream(
        model=EMBEDDED_MODEL,
        max_tokens=60,
        messages=[{"role": "user", "content": "Weather in Paris?"}],
        tools=[WEATHER],  # type: ignore[list-item]
        tool_choice={"type": "any"},
        **GREEDY,
    ) as stream:
        kinds = [event.type for event in stream if event.type == "content_block_delta"]
        final = stream.get_final_message()
    [block] = final.content
    assert len(kinds) > 1
    assert block.type == "tool_use"
    assert set(block.input) == {"city"}


def test_one_of_several_tools_is_called_when_any_may_be(client: anthropic.Anthropic) -> None:
    message = ask(
        client, "Weather in Paris?", max_tokens=80, tools=[WEATHER, TIME], tool_choice={"type": "any"}, **GREEDY
    )
    [block] = message.content
    assert block.type == "tool_use"
    assert block.name in {"get_weather", "get_time"}


def test_the_turns_of_a_tool_call_can_be_sent_back(client: anthropic.Anthropic) -> None:
    turns = [
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}]},
    ]
    assert said(ask(client, messages=turns, tools=[WEATHER], tool_choice={"type": "none"}))


def test_running_out_of_context_is_not_called_max_tokens(client: anthropic.Anthropic) -> None:
    config = {
        "format": {"type": "json_schema", "schema": {"type": "array", "minItems": 400, "items": {"type": "boolean"}}}
    }
    message = ask(client, "true " * 190, max_tokens=4000, output_config=config)
    assert message.stop_reason == "model_context_window_exceeded"


def test_a_prompt_beyond_the_context_is_refused_with_both_sizes(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 256 maximum"):
        ask(client, "word " * 600)


def test_a_nul_character_is_text_like_any_other(client: anthropic.Anthropic) -> None:
    assert ask(client, "a\x00b", max_tokens=2).usage.output_tokens > 0


def test_tokens_are_counted_as_they_are_used(client: anthropic.Anthropic) -> None:
    prompt: dict[str, Any] = {"system": "Be kind.", "messages": [{"role": "user", "content": "Grüße 🙂"}]}
    counted = client.messages.count_tokens(model=EMBEDDED_MODEL, **prompt)
    assert counted.input_tokens == ask(client, max_tokens=1, **prompt).usage.input_tokens


def test_models_are_listed_and_shown(client: anthropic.Anthropic) -> None:
    [model] = client.models.list()
    assert (model.id, model.type, model.max_input_tokens) == (EMBEDDED_MODEL, "model", 256)
    assert client.models.retrieve(EMBEDDED_MODEL) == model
    load = (model.model_extra or {})["load"]
    assert (load["waiting"], load["running"]) == (0, 0)
    assert load["slots"] >= 1


def test_an_unknown_model_is_not_found(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="model: gpt-9"):
        ask(client, model="gpt-9")
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("gpt-9")


def test_the_beta_path_answers_the_same(client: anthropic.Anthropic) -> None:
    message = client.beta.messages.create(
        model=EMBEDDED_MODEL, max_tokens=2, messages=[{"role": "user", "content": QUESTION}], **GREEDY
    )
    assert message.usage.output_tokens == 2
