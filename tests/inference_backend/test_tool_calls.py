"""Tool calls of a model that decides by itself: what the engine is asked, and what comes of what it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest

from tests.inference_backend.conftest import impatient, sdk, settings_for
from tests.inference_backend.declared import HEADERS, Declared
from tests.inference_backend.running import SERVICE_KEY, answers, running_backend
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    End,
    Hang,
    ScriptedEngine,
    Step,
    call,
    finish,
    frame,
    text,
    usage,
    whole,
)
from tests.waiting import wait_until

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TIME: dict[str, Any] = {"name": "get_time", "input_schema": {"type": "object", "properties": {}}}
ASK: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "Weather in Paris?"}],
    "tools": [WEATHER, TIME],
}
CALLED: list[Step] = [
    call(0, name="get_weather", arguments='{"city": "Paris"}'),
    finish("tool_calls"),
    usage(9, 6),
    DONE,
    End(),
]


@pytest.fixture(scope="module")
def running_engine() -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine()
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def engine(running_engine: ScriptedEngine) -> ScriptedEngine:
    running_engine.forget()
    return running_engine


@pytest.fixture(scope="module")
def shared_address(running_engine: ScriptedEngine) -> Iterator[str]:
    with running_backend(impatient(running_engine, INFERENCE_ENGINE_TOOLS="auto")) as running:
        yield running


@pytest.fixture
def address(shared_address: str, engine: ScriptedEngine) -> str:
    """An engine that was lost to the test before is verified again."""
    wait_until(lambda: answers(f"{shared_address}/readyz"))
    return shared_address


@pytest.fixture
def client(address: str) -> Iterator[anthropic.Anthropic]:
    with sdk(address) as connected:
        yield connected


def asked(engine: ScriptedEngine) -> dict[str, Any]:
    [body] = engine.requests
    return body


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (None, {"tool_choice": "auto"}),
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "auto", "disable_parallel_tool_use": True}, {"tool_choice": "auto", "parallel_tool_calls": False}),
        ({"type": "none"}, {"tool_choice": "none"}),
    ],
)
def test_the_engine_is_told_the_tools_and_the_choice(
    engine: ScriptedEngine, client: anthropic.Anthropic, choice: Any, told: dict[str, Any]
) -> None:
    engine.play(*(whole("Hello") if choice and choice["type"] == "none" else CALLED))
    client.messages.create(**ASK, **({"tool_choice": choice} if choice else {}))
    body = asked(engine)
    assert {name: body[name] for name in ("tool_choice", "parallel_tool_calls") if name in body} == told
    assert "response_format" not in body
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather of a city",
                "parameters": WEATHER["input_schema"],
            },
        },
        {"type": "function", "function": {"name": "get_time", "description": "", "parameters": TIME["input_schema"]}},
    ]


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_call_that_must_be_is_forced_by_schema(
    engine: ScriptedEngine, client: anthropic.Anthropic, choice: Any
) -> None:
    arguments = '{"city": "Paris"}'
    is_any = choice["type"] == "any"
    engine.play(*whole(f'{{"name": "get_weather", "arguments": {arguments}}}' if is_any else arguments))
    message = client.messages.create(**ASK, tool_choice=choice)
    [called] = message.content
    assert called.to_dict()["input"] == {"city": "Paris"}
    assert message.stop_reason == "tool_use"
    body = asked(engine)
    assert not {"tools", "tool_choice"} & body.keys()
    schema = body["response_format"]["json_schema"]["schema"]
    assert (schema == WEATHER["input_schema"]) is not is_any


def test_earlier_calls_and_their_results_reach_the_engine_as_such(
    engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    engine.play(*whole("It rains."))
    turns = [
        {"role": "user", "content": "Weather in Paris and the time?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "toolu_2", "name": "get_time", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no clock", "is_error": True},
                {"type": "text", "text": "And?"},
            ],
        },
    ]
    message = client.messages.create(**ASK | {"messages": turns})
    assert message.stop_reason == "end_turn"
    assert asked(engine)["messages"] == [
        {"role": "user", "content": "Weather in Paris and the time?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "toolu_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                },
                {"id": "toolu_2", "type": "function", "function": {"name": "get_time", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
        {"role": "tool", "tool_call_id": "toolu_2", "content": "Error: no clock"},
        {"role": "user", "content": "And?"},
    ]


def test_a_call_without_its_result_is_no_prompt(client: anthropic.Anthropic) -> None:
    turns = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_time", "input": {}}],
        },
    ]
    with pytest.raises(anthropic.BadRequestError, match="tool_result"):
        client.messages.create(**ASK | {"messages": turns})


def test_structured_output_and_calls_exclude_each_other(client: anthropic.Anthropic) -> None:
    form = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    with pytest.raises(anthropic.BadRequestError, match="tools"):
        client.messages.create(**ASK, extra_body={"output_config": form})


def test_text_that_might_have_become_a_stop_sequence_comes_before_the_call(
    engine: ScriptedEngine, client: anthropic.Anthropic
) -> None:
    engine.play(text("Let me look. ST"), *CALLED)
    message = client.messages.create(**ASK, stop_sequences=["STOP"])
    words, called = message.content
    assert (words.type, called.type) == ("text", "tool_use")
    assert words.to_dict()["text"] == "Let me look. ST"


@pytest.mark.parametrize(
    "said",
    [
        [call(0, arguments="{}")],
        [call(1, name="get_time")],
        [call(0, name="get_time"), call(1, name="get_weather"), call(0, arguments="{}")],
        [frame({"choices": [{"index": 0, "delta": {"tool_calls": "none"}, "finish_reason": None}]})],
        [call(0, name="get_weather", arguments='"Paris"')],
    ],
    ids=["no name", "a number too far", "back to an earlier call", "no list", "no object"],
)
def test_pieces_that_make_no_sense_are_an_error_and_never_a_call(
    engine: ScriptedEngine, address: str, said: list[Step]
) -> None:
    engine.play(*said, finish("tool_calls"), usage(9, 6), DONE, End())
    engine.play(*said, finish("tool_calls"), usage(9, 6), DONE, End())
    answer = httpx2.post(f"{address}/v1/messages", json=ASK, headers=HEADERS, trust_env=False, timeout=60)
    assert answer.status_code >= 500


def test_a_call_whose_engine_is_lost_ends_in_an_error_event(engine: ScriptedEngine, address: str) -> None:
    engine.play(call(0, name="get_weather", arguments='{"ci'), Hang())
    answer = httpx2.post(
        f"{address}/v1/messages", json=ASK | {"stream": True}, headers=HEADERS, trust_env=False, timeout=60
    )
    assert "event: error" in answer.text
    assert "message_stop" not in answer.text


def test_where_one_replica_cannot_decide_by_itself_none_is_asked_to(engine: ScriptedEngine, tmp_path: Path) -> None:
    declared = Declared(tmp_path / "inference.toml")
    declared.add("gpu-0", engine, tools="auto").add("gpu-1", engine, tools="forced")
    with declared.write().served() as address:
        answer = httpx2.post(f"{address}/v1/messages", json=ASK, headers=HEADERS, trust_env=False, timeout=60)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"].startswith("tool_choice: this model cannot decide by itself")


def test_an_engine_with_the_messages_api_is_asked_in_its_own_words(engine: ScriptedEngine, address: str) -> None:
    engine.play(text("Let me look."), *CALLED)
    kind = {"INFERENCE_ENGINE_KIND": "messages", "INFERENCE_ENGINE_MODEL": MODEL}
    with (
        running_backend(settings_for(address, INFERENCE_ENGINE_API_KEY=SERVICE_KEY, **kind)) as outer,
        sdk(outer) as client,
    ):
        turns = [
            *ASK["messages"],
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_time", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "noon"}]},
        ]
        message = client.messages.create(**ASK | {"messages": turns})
    words, called = message.content
    assert (words.type, called.type) == ("text", "tool_use")
    assert called.to_dict()["input"] == {"city": "Paris"}
    assert message.stop_reason == "tool_use"
    body = engine.requests[-1]
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool"]
    assert body["tool_choice"] == "auto"
