"""A message put together from the events of its stream, held to what the SDK that people use makes of them."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st

from inference_client.message import MessageSoFar

Event = dict[str, Any]
START: Event = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "tiny",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 2},
    },
}
PIECES = st.lists(st.text(alphabet=' {}"é🙂\n\\a', max_size=5), max_size=5)
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5) | st.booleans(), max_size=3)


def made_of(events: list[Event]) -> dict[str, Any] | None:
    message = MessageSoFar()
    for event in events:
        message.take(event)
    return message.plain()


def made_by_the_sdk(events: list[Event]) -> dict[str, Any]:
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        # It changes what it is given.
        given = cast(RawMessageStreamEvent, json.loads(json.dumps(event)))
        snapshot = accumulate_event(event=given, current_snapshot=snapshot, json_bufs=buffers)
    return cast("dict[str, Any]", json.loads(json.dumps(snapshot.to_dict(warnings=False))))


def text_block(pieces: list[str]) -> tuple[Event, list[Event]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def thought(pieces: list[str]) -> tuple[Event, list[Event]]:
    deltas: list[Event] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    return {"type": "thinking", "thinking": "", "signature": ""}, [
        *deltas,
        {"type": "signature_delta", "signature": "sig"},
    ]


def call(arguments: dict[str, Any], cut: int) -> tuple[Event, list[Event]]:
    written = json.dumps(arguments)
    parts = [written[:cut], written[cut:]]
    block = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    return block, [{"type": "input_json_delta", "partial_json": part} for part in parts]


BLOCKS = st.lists(
    st.builds(text_block, PIECES) | st.builds(thought, PIECES) | st.builds(call, ARGUMENTS, st.integers(0, 20)),
    max_size=4,
)


def stream(blocks: list[tuple[Event, list[Event]]], usage: Event) -> list[Event]:
    events = [START]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": "end_turn", "stop_sequence": None, "stop_details": None}
    return [*events, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


@given(BLOCKS, st.sampled_from([{"output_tokens": 5}, {"output_tokens": 5, "input_tokens": 9}]), st.data())
def test_the_message_is_what_the_sdk_makes_of_the_same_events_wherever_the_stream_ends(
    blocks: list[tuple[Event, list[Event]]], usage: Event, data: st.DataObject
) -> None:
    events = stream(blocks, usage)
    until = data.draw(st.integers(1, len(events)))
    assert made_of(events[:until]) == made_by_the_sdk(events[:until])


def test_citations_are_kept_in_order() -> None:
    block, _ = text_block([])
    deltas = [{"type": "citations_delta", "citation": {"type": "char_location", "cited_text": word}} for word in "ab"]
    found = made_of(stream([(block, deltas)], {"output_tokens": 1}))
    assert found is not None
    assert [each["cited_text"] for each in found["content"][0]["citations"]] == ["a", "b"]


def test_arguments_that_a_token_limit_cut_off_are_kept_as_far_as_they_go() -> None:
    found = made_of(stream([call({"at": "Paris"}, 8)], {"output_tokens": 1})[:3])
    assert found is not None
    assert found["content"][0]["input"] == {}
    block = call({"at": 1, "to": 2}, 9)
    found = made_of(stream([(block[0], block[1][:1])], {"output_tokens": 1}))
    assert found is not None
    assert found["content"][0]["input"] == {"at": 1}


def test_kinds_that_are_not_known_are_passed_over() -> None:
    strange: list[Event] = [
        {"type": "ping"},
        {"type": "weather", "sun": True},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "colour_delta", "colour": "red"}},
    ]
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}
    found = made_of([{"type": "ping"}, START, block, *strange])
    assert found is not None
    assert found["content"] == [{"type": "text", "text": "a"}]


def test_before_its_beginning_there_is_no_message() -> None:
    assert made_of([]) is None


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}],
        [START, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}],
        [START, {"type": "content_block_stop", "index": -1}],
        [START, {"type": "content_block_start", "index": 0}],
        [START, {"index": 0}],
        [[]],
        [{"type": "message_start", "message": None}],
        stream([({"type": "text", "text": ""}, [{"type": "text_delta", "text": 7}])], {}),
        stream([({"type": "tool_use", "input": {}}, [{"type": "input_json_delta", "partial_json": "no"}])], {}),
    ],
    ids=["no message", "no block", "negative", "no fields", "no type", "list", "null", "number", "no JSON"],
)
def test_what_is_no_such_stream_is_refused(events: list[Any]) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        made_of(events)
