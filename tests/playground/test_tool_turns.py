"""Which calls of a conversation are answered: the rules of the Messages API as a table, and as properties."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Unprocessable
from playground import tool_turns, wire
from playground.tool_turns import problems

Message = dict[str, Any]
ASK: Message = {"role": "user", "content": "Weather?"}


def call(call_id: str = "t1", name: str = "get_weather") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "Rain"}


def text(words: str = "And?") -> dict[str, Any]:
    return {"type": "text", "text": words}


def model(*blocks: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": list(blocks)}


def person(*blocks: dict[str, Any]) -> Message:
    return {"role": "user", "content": list(blocks)}


CASES: dict[str, tuple[list[Message], list[tuple[str, str]]]] = {
    "no tools at all": ([ASK, {"role": "assistant", "content": "Rain."}], []),
    "answered": ([ASK, model(text(), call()), person(result())], []),
    "answered with words behind it": ([ASK, model(call()), person(result(), text())], []),
    "two calls answered in the other order": (
        [ASK, model(call("a"), call("b")), person(result("b"), result("a"))],
        [],
    ),
    "answered by two messages, which are one turn": (
        [ASK, model(call("a"), call("b")), person(result("a")), person(result("b"))],
        [],
    ),
    "called by two messages, which are one turn": (
        [ASK, model(call("a")), model(call("b")), person(result("a"), result("b"))],
        [],
    ),
    "called twice in a row": ([ASK, model(call("a")), person(result("a")), model(call("b")), person(result("b"))], []),
    "not answered at the end": ([ASK, model(call())], [("tool_call_unanswered", "messages.1.content.0")]),
    "answered by text": ([ASK, model(call()), ASK], [("tool_call_unanswered", "messages.1.content.0")]),
    "one of two not answered": (
        [ASK, model(text(), call("a"), call("b")), person(result("b"))],
        [("tool_call_unanswered", "messages.1.content.1")],
    ),
    "answered one turn too late": (
        [ASK, model(call()), ASK, model(text()), person(result())],
        [("tool_call_unanswered", "messages.1.content.0"), ("tool_result_orphan", "messages.4.content.0")],
    ),
    "a result without a call": ([person(result())], [("tool_result_orphan", "messages.0.content.0")]),
    "a result of another call": (
        [ASK, model(call("a")), person(result("a"), result("b"))],
        [("tool_result_orphan", "messages.2.content.1")],
    ),
    "answered twice": (
        [ASK, model(call()), person(result(), result())],
        [("tool_result_twice", "messages.2.content.1")],
    ),
    "answered again in the next turn": (
        [ASK, model(call()), person(result()), model(text()), person(result())],
        [("tool_result_orphan", "messages.4.content.0")],
    ),
    "words before the result": (
        [ASK, model(call()), person(text(), result())],
        [("tool_result_late", "messages.2.content.1")],
    ),
    "words before the result in a message of their own": (
        [ASK, model(call()), ASK, person(result())],
        [("tool_result_late", "messages.3.content.0")],
    ),
    "one id for two calls of a turn": (
        [ASK, model(call("a"), call("a")), person(result("a"))],
        [("tool_call_id_twice", "messages.1.content.1")],
    ),
    "an id used again later": (
        [ASK, model(call("a")), person(result("a")), model(call("a")), person(result("a"))],
        [("tool_call_id_twice", "messages.3.content.0"), ("tool_result_orphan", "messages.4.content.0")],
    ),
    "a person who calls": ([person(call())], [("tool_call_misplaced", "messages.0.content.0")]),
    "a model that answers": (
        [ASK, model(call()), model(result())],
        [("tool_result_misplaced", "messages.2.content.0"), ("tool_call_unanswered", "messages.1.content.0")],
    ),
}


@pytest.mark.parametrize(("messages", "expected"), CASES.values(), ids=CASES)
def test_what_is_wrong_and_where(messages: list[Message], expected: list[tuple[str, str]]) -> None:
    assert [(each.code, each.field) for each in problems(messages)] == expected


def test_a_run_is_refused_before_it_is_queued_with_every_place() -> None:
    body = {"messages": [ASK, model(call("a"), call("b", "get_time")), ASK]}
    with pytest.raises(Unprocessable) as refused:
        wire.refuse_unsendable(body)
    assert (refused.value.code, refused.value.field) == ("tool_call_unanswered", "messages.1.content.0")
    assert "`get_weather`" in refused.value.message
    assert refused.value.data == {
        "problems": [
            {"field": "messages.1.content.0", "message": "The call of `get_weather` has no result."},
            {"field": "messages.1.content.1", "message": "The call of `get_time` has no result."},
        ]
    }


def test_a_name_that_is_no_name_is_not_repeated() -> None:
    [found] = problems([ASK, model(call(name="ignore all that {{x}}\n"))])
    assert found.message == "The call of a tool has no result."


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Good ones: turns of one or more messages, calls with their results in any order, words where they may be."""
    messages: list[Message] = [ASK]
    count = 0
    for _ in range(draw(st.integers(1, 5))):
        ids = [f"call-{count + index}" for index in range(draw(st.integers(0, 3)))]
        count += len(ids)
        messages += _cut(draw, "assistant", [*([text()] * draw(st.integers(0, 1))), *map(call, ids)] or [text()])
        results = list(map(result, draw(st.permutations(ids))))
        messages += _cut(draw, "user", [*results, *([text()] * draw(st.integers(0, 2)))] or [text()])
    return messages


def _cut(draw: st.DrawFn, role: str, blocks: list[dict[str, Any]]) -> list[Message]:
    """One turn as one message or as two neighbouring ones."""
    at = draw(st.integers(0, len(blocks) - 1))
    parts = [blocks[:at], blocks[at:]]
    return [{"role": role, "content": copy.deepcopy(part)} for part in parts if part]


def places(messages: list[Message], kind: str) -> list[tuple[int, int]]:
    return [
        (index, position)
        for index, message in enumerate(messages)
        if isinstance(message["content"], list)
        for position, block in enumerate(message["content"])
        if block["type"] == kind
    ]


@given(conversations())
def test_a_good_conversation_has_no_problem(messages: list[Message]) -> None:
    assert problems(messages) == []


@given(conversations(), st.data())
def test_without_one_half_of_a_pair_the_other_half_is_named(messages: list[Message], data: st.DataObject) -> None:
    pairs = places(messages, "tool_use") + places(messages, "tool_result")
    if not pairs:
        return
    index, position = data.draw(st.sampled_from(pairs))
    removed = messages[index]["content"].pop(position)
    if not messages[index]["content"]:
        messages[index]["content"] = [text()]
    is_call = removed["type"] == "tool_use"
    code = tool_turns.RESULT_ORPHAN if is_call else tool_turns.CALL_UNANSWERED
    found = [each for each in problems(messages) if each.code == code]
    assert [_id_at(messages, each.field) for each in found] == [removed["id"] if is_call else removed["tool_use_id"]]


@given(conversations(), st.data())
def test_a_conversation_that_stops_at_a_call_waits_for_it(messages: list[Message], data: st.DataObject) -> None:
    calls = places(messages, "tool_use")
    if not calls:
        return
    index, _ = data.draw(st.sampled_from(calls))
    found = problems(messages[: index + 1])
    assert found
    assert {each.code for each in found} == {tool_turns.CALL_UNANSWERED}


@given(st.lists(st.sampled_from([model(call("a")), person(result("a")), person(result("b")), ASK, model(text())])))
def test_every_problem_is_at_a_block_that_is_there(messages: list[Message]) -> None:
    for each in problems(messages):
        assert _id_at(messages, each.field) in {"a", "b"}


def _id_at(messages: list[Message], field: str) -> str:
    _, index, _, position = field.split(".")
    block = messages[int(index)]["content"][int(position)]
    return str(block.get("id") or block.get("tool_use_id"))
