"""What a version puts on the wire: order, omission, variables, and what is told before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import InvalidInput, Unprocessable
from playground import wire

SPEC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 5,
    "temperature": 0,
    "system": "for {{who}}",
    "messages": [{"role": "user", "content": "{{q}} {{{{kept}}"}],
    "variables": [{"name": "who", "type": "text", "default": "all"}, {"name": "j", "type": "json"}],
}


def test_the_body_has_the_messages_apis_shape_and_order() -> None:
    body = wire.build({**SPEC, "output_schema": '{"type":"object"}', "tools": "[]"}, {"q": "a", "who": "b"})
    assert list(body) == [
        "model", "max_tokens", "temperature", "system", "messages", "tools", "output_config", "stream",
    ]  # fmt: skip
    assert body["system"] == "for b"
    assert body["messages"] == [{"role": "user", "content": "a {{kept}}"}]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    assert body["stream"] is True
    assert "variables" not in body


def test_a_default_fills_in_and_an_empty_text_is_a_value() -> None:
    assert wire.complete_values(SPEC, {"q": ""}) == {"who": "all", "q": ""}
    wire.refuse_incomplete(SPEC, {"who": "all", "q": ""})


def test_an_unset_variable_refuses_the_run_and_is_named() -> None:
    with pytest.raises(Unprocessable) as refused:
        wire.refuse_incomplete(SPEC, wire.complete_values(SPEC, {}))
    assert refused.value.code == "variables_unset"
    assert refused.value.data == {"names": ["q"]}


def test_a_json_variable_must_hold_json() -> None:
    spec = {**SPEC, "messages": [{"role": "user", "content": "{{j}}"}]}
    with pytest.raises(Unprocessable) as refused:
        wire.refuse_incomplete(spec, {"who": "x", "j": "{nope"})
    assert refused.value.field == "variables.j"
    wire.refuse_incomplete(spec, {"who": "x", "j": '{"fine": 1}'})


def test_names_are_compared_in_nfc_and_other_values_become_their_json() -> None:
    assert wire.variable_values({"cafe\u0301": "x", "n": 3, "o": {"ä": [True]}}) == {
        "caf\u00e9": "x",
        "n": "3",
        "o": '{"ä": [true]}',
    }
    with pytest.raises(InvalidInput) as refused:
        wire.variable_values({"two words": "x"})
    assert refused.value.field == "variables.two words"


def test_a_prefill_ending_in_a_blank_is_told_and_not_trimmed() -> None:
    body = wire.build(
        {**SPEC, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{ "}]}, {}
    )
    assert body["messages"][1]["content"] == "{ "
    with pytest.raises(Unprocessable) as refused:
        wire.refuse_unsendable(body)
    assert refused.value.field == "messages.1.content"


def test_turns_continue_the_conversation_and_take_no_variables() -> None:
    body = wire.build(SPEC, {"q": "a", "who": "b"}, turns=[{"role": "assistant", "content": "{{q}}"}])
    assert body["messages"][-1] == {"role": "assistant", "content": "{{q}}"}


def test_a_stop_sequence_of_blanks_is_told_before_the_run() -> None:
    with pytest.raises(Unprocessable) as refused:
        wire.refuse_unsendable(wire.build({**SPEC, "stop_sequences": ["END", "\n\n"]}, {}))
    assert refused.value.field == "stop_sequences.1"
