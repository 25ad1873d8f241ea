"""The table for engines with a real model, greedy and short: what any of them has to give."""

from collections.abc import Callable
from typing import Any

from tests.inference_backend.conformance.drivers import Case, Json
from tests.inference_backend.conformance.scripted_cases import EVENTS, OLD, WEATHER, failed
from tests.inference_backend.running import EMBEDDED_MODEL

QUESTION = "What is the capital of France? Answer in one sentence."
GREEDY: Json = {"client": {"headers": OLD}, "body": {"temperature": 0.0}}
NAMES_PARIS: Callable[[Any], bool] = lambda text: "Paris" in str(text)  # noqa: E731 - a value of the table
SOME: Callable[[Any], bool] = lambda count: isinstance(count, int) and count > 0  # noqa: E731
USED: Json = {"input_tokens": SOME, "output_tokens": SOME}
COUNT_CASE, USE_CASE = "count", "answer whole"


def ask(content: str = QUESTION, **more: Any) -> Json:
    turns = [{"role": "user", "content": content}]
    return {"model": EMBEDDED_MODEL, "max_tokens": 24, "messages": turns} | more


def message(content: object, reason: object = "end_turn", stop: str | None = None) -> Json:
    return {
        "message": {
            "has_id": True,
            "model": EMBEDDED_MODEL,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": stop,
            "usage": USED,
        },
        "calls": 1,
        "has_request_id": True,
    }


def cases() -> list[Case]:
    return [*_answers(), *_prompts(), *_shaped(), *_refused()]


def _answers() -> list[Case]:
    named = message([{"type": "text", "text": NAMES_PARIS}])
    stopped = message([{"type": "text", "text": lambda text: "Paris" not in text}], "stop_sequence", "is Paris")
    stops: Json = {"stop_sequences": ["never said", "is Paris"]}
    return [
        Case(name=USE_CASE, call="create", params=ask(), expected=named, **GREEDY),
        Case(name="answer stream", call="stream", params=ask(), expected=named | {"text": NAMES_PARIS}, **GREEDY),
        Case(
            name="answer events",
            call="raw_stream",
            params=ask(),
            expected={"events": EVENTS, "text": NAMES_PARIS, "stop_reason": "end_turn", "output_tokens": SOME},
            **GREEDY,
        ),
        Case(
            name="new version",
            call="create",
            params=ask(max_tokens=3),
            expected=message([{"type": "text"}], "max_tokens"),
        ),
        Case(
            name="max_tokens",
            call="create",
            params=ask("Count from one to one hundred.", max_tokens=5),
            expected={"message": {"stop_reason": "max_tokens", "usage": {"output_tokens": 5}}},
            **GREEDY,
        ),
        Case(name="stop sequence", call="create", params=ask(**stops), expected=stopped, **GREEDY),
        Case(name="stop sequence in a stream", call="stream", params=ask(**stops), expected=stopped, **GREEDY),
    ]


def _prompts() -> list[Case]:
    blocks = [{"type": "text", "text": "You know capitals."}]
    prefilled = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "The capital of France is the city"},
    ]
    turns = [
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain"}]},
    ]
    some_text = message([{"type": "text"}], lambda reason: reason in {"end_turn", "max_tokens"})
    return [
        Case(name="system", call="create", params=ask(system="You know capitals."), expected=some_text, **GREEDY),
        Case(name="system blocks", call="create", params=ask(system=blocks), expected=some_text, **GREEDY),
        Case(
            name="prefill",
            call="create",
            params=ask(messages=prefilled, max_tokens=6),
            expected={"message": {"content": [{"text": lambda text: text.startswith(" of Paris")}]}},
            **GREEDY,
        ),
        Case(
            name="tool result",
            call="create",
            params=ask(messages=turns, tools=[WEATHER], tool_choice={"type": "none"}),
            expected=some_text,
            **GREEDY,
        ),
        Case(
            name=COUNT_CASE,
            call="count_tokens",
            params={"model": EMBEDDED_MODEL, "messages": [{"role": "user", "content": QUESTION}]},
            expected={"input_tokens": SOME},
        ),
        Case(name="models", call="list_models", params={}, expected={"models": [{"id": EMBEDDED_MODEL}]}),
        Case(
            name="model",
            call="retrieve_model",
            params={"model": EMBEDDED_MODEL},
            expected={"model": {"id": EMBEDDED_MODEL, "type": "model", "lifecycle": "active"}},
        ),
    ]


def _shaped() -> list[Case]:
    forced = {"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "get_weather"}}
    call = {"type": "tool_use", "name": "get_weather", "input": {"city": NAMES_PARIS}, "has_id": True}
    person = {"name": lambda name: isinstance(name, str), "age": lambda age: isinstance(age, int)}
    return [
        Case(
            name="forced tool",
            call="create",
            params=ask("Weather in Paris?", max_tokens=60, **forced),
            expected=message([call], "tool_use"),
            **GREEDY,
        ),
        Case(
            name="forced tool in a stream",
            call="stream",
            params=ask("Weather in Paris?", max_tokens=60, **forced),
            expected=message([call], "tool_use"),
            **GREEDY,
        ),
        Case(
            name="parsed",
            call="parse",
            params=ask("Give me a person: name and age.", max_tokens=100),
            expected={"parsed": person},
            **GREEDY,
        ),
    ]


def _refused() -> list[Case]:
    bad = failed(400, "invalid_request_error", sdk_class="BadRequestError")
    too_long = lambda words: words.startswith("prompt is too long")  # noqa: E731
    return [
        Case(
            name="prompt too long",
            call="create",
            params=ask("word " * 3000),
            expected=failed(400, "invalid_request_error", sdk_class="BadRequestError", message=too_long),
        ),
        Case(
            name="temperature of the new version",
            call="create",
            params=ask(),
            client={"headers": {"anthropic-version": "2026-10-21"}},
            body={"temperature": 0.5},
            expected=bad,
        ),
        Case(
            name="tool of its own choice",
            call="create",
            params=ask(tools=[WEATHER], tool_choice={"type": "auto"}),
            expected=bad,
        ),
        Case(
            name="unknown model",
            call="create",
            params=ask(model="gpt-9"),
            expected=failed(404, "not_found_error", sdk_class="NotFoundError"),
        ),
        Case(
            name="schema that is none",
            call="create",
            params=ask(output_config={"format": {"type": "json_schema", "schema": {"type": "wat"}}}),
            expected=bad,
        ),
    ]
