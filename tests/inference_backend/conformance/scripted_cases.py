"""The table that needs an engine on order: exact outcomes, and every fault that a caller can meet."""

from collections.abc import Mapping
from typing import Any

from tests.inference_backend.conformance.drivers import Case, Json
from tests.inference_backend.running import SERVICE_KEY
from tests.inference_backend.scripted_engine import (
    DONE,
    MODEL,
    Close,
    End,
    Hang,
    Mute,
    Pause,
    Refuse,
    Reset,
    Send,
    Step,
    Vanish,
    byte_by_byte,
    call,
    finish,
    frame,
    text,
    usage,
    words_of,
)

BROKEN_FRAME = Send(b'data: {"choices": [{"index": 0, "delta": {"cont')
WEATHER: Json = {
    "name": "get_weather",
    "description": "The weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TIME: Json = {"name": "get_time", "input_schema": {"type": "object", "properties": {}}}
EVENTS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
]
OLD = {"anthropic-version": "2023-06-01"}

SCRIPTS: Mapping[str, list[Step]] = {
    "hello": words_of("Hello there friend"),
    "emoji": list(byte_by_byte([text("smile "), text("😀"), text(" 漢字"), finish(), usage(5, 3), DONE, End()])),
    "letters": [text("L M "), text("N "), text("O"), text(" P"), text(" Q"), text(" R"), Hang()],
    "unicode_stop": [*byte_by_byte([text("über "), text("alles 終わ"), text("りました")]), Hang()],
    "overlap": [text("aab"), text("aabc"), text("rest"), Hang()],
    "almost": [text("one ST"), finish(), usage(5, 2), DONE, End()],
    "continued": words_of(" of Paris"),
    "weather": [text('{"city"'), text(': "Paris"}'), finish(), usage(9, 6), DONE, End()],
    "either": [text('{"name": "get_weather", "arguments": {"city": "Paris"}}'), finish(), usage(9, 6), DONE, End()],
    "own_call": [
        text("Let me look."),
        call(0, name="get_weather"),
        call(0, arguments='{"city"'),
        call(0, arguments=': "Paris"}'),
        finish("tool_calls"),
        usage(9, 6),
        DONE,
        End(),
    ],
    "two_calls": [
        call(0, name="get_weather", arguments='{"city": "Paris"}'),
        call(1, name="get_time", arguments="{}"),
        finish("tool_calls"),
        usage(9, 8),
        DONE,
        End(),
    ],
    "bare_call": [call(0, name="get_time"), finish("tool_calls"), usage(9, 2), DONE, End()],
    "cut_call": [call(0, name="get_weather", arguments='{"city": "Pa'), finish("length"), usage(9, 6), DONE, End()],
    "word_call": [call(0, name="get_weather", arguments='"Paris"'), finish("tool_calls"), usage(9, 6), DONE, End()],
    "person": [text('{"name": "Ada", '), text('"age": 36}'), finish(), usage(9, 8), DONE, End()],
    "zero_usage": [text("counted"), finish(), usage(0, 0), DONE, End()],
    "no_usage": [text("one"), text(" two"), finish(), DONE, End()],
    "empty": [finish(), usage(5, 0), DONE, End()],
    "limit": [text("one two"), finish("length"), usage(5, 2), DONE, End()],
    "slow_drip": words_of("drip drop drip drop", gap_s=0.15),
    "late": [Pause(1.3), *words_of("better late")],
    "noise": [Send(b": hello\r\n\r\n"), Send(b"event: x\r\nid: 1\r\n"), *words_of("through noise")],
    "reset": [text("one"), text(" two"), Pause(0.05), Reset()],
    "closed": [text("one"), text(" two"), Pause(0.05), Close()],
    "unfinished": [text("one"), text(" two"), End()],
    "half_frame": [text("one"), text(" two"), BROKEN_FRAME, Pause(0.05), Close()],
    "garbage": [text("one"), text(" two"), frame("}{ no json"), End()],
    "not_utf8": [text("one"), text(" two"), Send(b'data: {"a": "\xff\xfe"}\n\n'), End()],
    "failed": [text("one"), text(" two"), frame({"error": {"code": 500, "message": "secret"}}), End()],
    "stalled": [text("one"), text(" two"), Hang()],
    "late_loss": [Pause(1.3), Close()],
    "early_garbage": [frame("}{ no json"), End()],
    "mute": [Mute()],
    "silent": [Hang()],
    "gone": [Vanish()],
    "status_500": [Refuse(500, "secret")],
    "status_400": [Refuse(400, '{"error": {"message": "bad grammar"}}')],
    "too_long": [
        Refuse(400, '{"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}')
    ],
}


def ask(script: str, **more: Any) -> Json:
    """Parameters of a call whose prompt picks a script of the engine."""
    turns = [{"role": "user", "content": f"script:{script}"}]
    return {"model": MODEL, "max_tokens": 50, "messages": turns} | more


def said(words: str, reason: str = "end_turn", *, stop: str | None = None) -> Json:
    return {
        "has_id": True,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": words}],
        "stop_reason": reason,
        "stop_sequence": stop,
    }


def failed(status: int, kind: str, *, sdk_class: str, **more: Any) -> Json:
    error = {"status": status, "type": kind, "class": sdk_class, "has_request_id": True}
    return {"error": error | more, "calls": 1, "has_request_id": True}


def broken_off(code: str) -> Json:
    """A stream that ends in an error event: everything said so far, then an error with the status that was sent."""
    error = {"status": 200, "type": "api_error", "code": code, "has_request_id": True}
    begun = ["message_start", "content_block_start", "content_block_delta"]
    return {"events": begun, "text": "one two", "error": error, "stop_reason": None, "calls": 1}


def _plain(name: str, params: Json, expected: Json, **more: Any) -> list[Case]:
    """The same question asked whole, as a stream, and as raw events."""
    message: Json = expected["message"]
    words = "".join(block.get("text", "") for block in message["content"])
    raw = {"text": words, "stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    if message["content"]:
        raw["events"] = EVENTS
    return [
        Case(name=f"{name} whole", call="create", params=params, expected=expected, **more),
        Case(name=f"{name} stream", call="stream", params=params, expected=expected, **more),
        Case(name=f"{name} events", call="raw_stream", params=params, expected={**raw, "calls": 1}, **more),
    ]


def _counted(message: Json, taken: int, given: int) -> Json:
    message = message | {"usage": {"input_tokens": taken, "output_tokens": given}}
    return {"message": message, "calls": 1, "has_request_id": True, "error": None}


def answers() -> list[Case]:
    stops = {"stop_sequences": ["never", "O P Q"]}
    return [
        *_plain("answer", ask("hello"), _counted(said("Hello there friend"), 5, 3)),
        *_plain("split bytes", ask("emoji"), _counted(said("smile 😀 漢字"), 5, 3)),
        *_plain("noise", ask("noise"), _counted(said("through noise"), 5, 2)),
        *_plain("slow drip", ask("slow_drip"), _counted(said("drip drop drip drop"), 5, 4)),
        *_plain("late", ask("late"), _counted(said("better late"), 5, 2)),
        *_plain("limit", ask("limit", max_tokens=2), _counted(said("one two", "max_tokens"), 5, 2)),
        *_plain("context", ask("limit"), _counted(said("one two", "model_context_window_exceeded"), 5, 2)),
        *_plain("zero usage", ask("zero_usage"), _counted(said("counted"), 0, 0)),
        *_plain("usage not told", ask("no_usage"), _counted(said("one two"), 0, 2)),
        *_plain("empty", ask("empty"), _counted(said("") | {"content": []}, 5, 0)),
        *_plain("stop", ask("letters", **stops), {"message": said("L M N ", "stop_sequence", stop="O P Q")}),
        *_plain(
            "unicode stop",
            ask("unicode_stop", stop_sequences=["終わり"]),
            {"message": said("über alles ", "stop_sequence", stop="終わり")},
        ),
        *_plain(
            "overlapping stops",
            ask("overlap", stop_sequences=["aabaabd", "aabc", "abc"]),
            {"message": said("aab", "stop_sequence", stop="aabc")},
        ),
        *_plain("almost a stop", ask("almost", stop_sequences=["STOP"]), _counted(said("one ST"), 5, 2)),
    ]


def prompts() -> list[Case]:
    blocks = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    prefilled = [{"role": "user", "content": "script:continued"}, {"role": "assistant", "content": "The city"}]
    spaced = [prefilled[0], {"role": "assistant", "content": "The city "}]
    return [
        *_plain("system", ask("hello", system="Be kind."), _counted(said("Hello there friend"), 5, 3)),
        *_plain("system blocks", ask("hello", system=blocks), _counted(said("Hello there friend"), 5, 3)),
        *_plain("prefill", ask("", messages=prefilled), _counted(said(" of Paris"), 5, 2)),
        Case(
            name="prefill with a blank",
            call="create",
            params=ask("", messages=spaced),
            expected=failed(400, "invalid_request_error", sdk_class="BadRequestError"),
        ),
        Case(
            name="count",
            call="count_tokens",
            params={"model": MODEL, "messages": [{"role": "user", "content": "one two three"}], "system": "four"},
            expected={"input_tokens": 4, "calls": 1, "has_request_id": True},
        ),
    ]


def own_tools() -> list[Case]:
    """Of a model that decides by itself whether to call one."""
    weather = {"type": "tool_use", "name": "get_weather", "input": {"city": "Paris"}, "has_id": True}
    time = {"type": "tool_use", "name": "get_time", "input": {}, "has_id": True}
    spoken = {"type": "text", "text": "Let me look."}
    both: Json = {"tools": [TIME, WEATHER]}
    free: Json = both | {"tool_choice": {"type": "auto"}}
    single: Json = both | {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    some: Json = both | {"tool_choice": {"type": "any"}}
    named: Json = both | {"tool_choice": {"type": "tool", "name": "get_weather"}}
    block = EVENTS[1:4]
    return [
        *_plain("words and a call", ask("own_call", **both), _called([spoken, weather], 6))[:2],
        *_plain("two calls", ask("two_calls", **free), _called([weather, time], 8))[:2],
        *_plain("one call of two", ask("two_calls", **single), _called([weather], 8))[:2],
        *_plain("call without arguments", ask("bare_call", **free), _called([time], 2))[:2],
        *_plain("no call", ask("hello", **free), _counted(said("Hello there friend"), 5, 3)),
        *_plain("some call", ask("either", **some), _called([weather], 6)),
        *_plain("named call", ask("weather", **named), _called([weather], 6)),
        Case(
            name="words and a call, event by event",
            call="raw_stream",
            params=ask("own_call", **both),
            expected={
                "events": [EVENTS[0], *block, *block, *EVENTS[4:]],
                "json": '{"city": "Paris"}',
                "text": "Let me look.",
                "stop_reason": "tool_use",
            },
        ),
        Case(
            name="a call without arguments, event by event",
            call="raw_stream",
            params=ask("bare_call", **both),
            expected={"events": [*EVENTS[:2], *EVENTS[3:]], "json": "", "stop_reason": "tool_use"},
        ),
        Case(
            name="a call that was cut off",
            call="create",
            params=ask("cut_call", **both),
            expected=_counted(said("", "model_context_window_exceeded") | {"content": [weather | {"input": {}}]}, 9, 6),
        ),
        Case(
            name="arguments that are no object",
            call="create",
            params=ask("word_call", **both),
            expected=failed(500, "api_error", sdk_class="InternalServerError"),
        ),
    ]


def _called(content: list[Json], output_tokens: int) -> Json:
    return _counted(said("", "tool_use") | {"content": content}, 9, output_tokens)


def tools() -> list[Case]:
    call = {"type": "tool_use", "name": "get_weather", "input": {"city": "Paris"}, "has_id": True}
    called = _counted(said("", "tool_use") | {"content": [call]}, 9, 6)
    forced = {"tools": [TIME, WEATHER], "tool_choice": {"type": "tool", "name": "get_weather"}}
    either = {"tools": [TIME, WEATHER], "tool_choice": {"type": "any"}}
    turns = [
        {"role": "user", "content": "Weather in Paris?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rain", "is_error": False},
                {"type": "text", "text": "script:hello"},
            ],
        },
    ]
    refused = failed(400, "invalid_request_error", sdk_class="BadRequestError")
    return [
        *_plain("forced tool", ask("weather", **forced), called),
        *_plain("any tool", ask("either", **either), called),
        Case(
            name="forced tool in pieces",
            call="raw_stream",
            params=ask("weather", **forced),
            expected={"events": EVENTS, "json": '{"city": "Paris"}', "text": "", "stop_reason": "tool_use"},
        ),
        Case(
            name="tool result",
            call="create",
            params=ask("", messages=turns, tools=[WEATHER], tool_choice={"type": "none"}),
            expected=_counted(said("Hello there friend"), 5, 3),
        ),
        Case(
            name="tool of one's own choice",
            call="create",
            params=ask("hello", tools=[WEATHER], tool_choice={"type": "auto"}),
            expected=refused,
        ),
        Case(
            name="tool without a choice",
            call="create",
            params=ask("hello", tools=[WEATHER]),
            expected=refused,
        ),
        Case(
            name="parsed",
            call="parse",
            params=ask("person"),
            expected={"parsed": {"name": "Ada", "age": 36}, "calls": 1},
        ),
    ]


def versions() -> list[Case]:
    by_key = {"headers": {"x-api-key": SERVICE_KEY, "authorization": None, **OLD}}
    by_bearer = {"headers": {"anthropic-version": "2026-10-21"}}
    sampled: list[Json] = [{"temperature": 0.2}, {"top_p": 0.9}, {"top_k": 5}]
    answer = _counted(said("Hello there friend"), 5, 3)
    refused = failed(400, "invalid_request_error", sdk_class="BadRequestError")
    return [
        Case(name="x-api-key", call="create", params=ask("hello"), client=by_key, expected=answer),
        *(
            Case(
                name=f"{next(iter(body))} of the old version",
                call="create",
                params=ask("hello"),
                client=by_key,
                body=body,
                expected=answer,
            )
            for body in sampled
        ),
        *(
            Case(
                name=f"{next(iter(body))} of the new version",
                call="create",
                params=ask("hello"),
                client=by_bearer,
                body=body,
                expected=refused,
            )
            for body in sampled
        ),
        Case(
            name="unknown version",
            call="create",
            params=ask("hello"),
            client={"headers": {"anthropic-version": "1999-01-01"}},
            expected=refused,
        ),
    ]


def models() -> list[Case]:
    return [
        Case(name="models", call="list_models", params={}, expected={"models": [{"id": MODEL, "type": "model"}]}),
        Case(
            name="model",
            call="retrieve_model",
            params={"model": MODEL},
            expected={"model": {"id": MODEL, "type": "model", "lifecycle": "active"}, "has_request_id": True},
        ),
        Case(
            name="unknown model",
            call="retrieve_model",
            params={"model": "gpt-9"},
            expected=failed(404, "not_found_error", sdk_class="NotFoundError", message="model: gpt-9"),
        ),
    ]
