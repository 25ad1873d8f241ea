"""A malformed spec is refused with the dotted field; what is fine comes through unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import InvalidInput, TooLarge
from playground import spec

GOOD: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"model": None}, "spec.model"),
        ({"model": ""}, "spec.model"),
        ({"model": "a\0b"}, "spec.model"),
        ({"max_tokens": -5}, "spec.max_tokens"),
        ({"max_tokens": 0}, "spec.max_tokens"),
        ({"max_tokens": "5"}, "spec.max_tokens"),
        ({"max_tokens": True}, "spec.max_tokens"),
        ({"max_tokens": 1.5}, "spec.max_tokens"),
        ({"temperature": "hot"}, "spec.temperature"),
        ({"temperature": -0.1}, "spec.temperature"),
        ({"temperature": 1.1}, "spec.temperature"),
        ({"top_p": 1.1}, "spec.top_p"),
        ({"top_k": -1}, "spec.top_k"),
        ({"messages": []}, "spec.messages"),
        ({"messages": "hi"}, "spec.messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "spec.messages.0.role"),
        ({"messages": [{"role": "user"}]}, "spec.messages.0.content"),
        ({"messages": [{"role": "user", "content": None}]}, "spec.messages.0.content"),
        ({"messages": [{"role": "user", "content": []}]}, "spec.messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 4}]}]}, "spec.messages.0.content.0.text"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "spec.messages.0.content.0"),
        ({"messages": [{"role": "user", "content": {"body": "zz"}}]}, "spec.messages.0.content"),
        ({"system": 5}, "spec.system"),
        ({"stop_sequences": [""]}, "spec.stop_sequences.0"),
        ({"stop_sequences": "x"}, "spec.stop_sequences"),
        ({"tools": "not json"}, "spec.tools"),
        ({"tools": [{"description": "no name"}]}, "spec.tools"),
        ({"tools": {"name": "x"}}, "spec.tools"),
        ({"output_schema": "[1]"}, "spec.output_schema"),
        ({"output_schema": {"big": 2**70}}, "spec.output_schema"),
        ({"tool_choice": {"n": 2**70}}, "spec"),
        ({"temperature": 0, "api_version": "2026-10-21"}, "spec.temperature"),
        ({"api_version": "2020-01-01"}, "spec.api_version"),
        ({"variables": [{"name": "two words"}]}, "spec.variables.0.name"),
        ({"variables": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, "spec.variables.2.name"),
        ({"variables": {"caf\u00e9": "x", "cafe\u0301": "y"}}, "spec.variables.1.name"),
        ({"unknown": 1}, "spec.unknown"),
    ],
)
def test_a_bad_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        spec.parse({**GOOD, **change})
    assert refused.value.field == field
    assert refused.value.message


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": None}, "This is required."),
        ({"max_tokens": 0}, "Must be at least 1."),
        ({"max_tokens": "5"}, "Must be a whole number."),
        ({"temperature": 2}, "Must be between 0 and 1."),
        ({"messages": []}, "At least 1 is needed."),
        ({"messages": [{"role": "x", "content": "y"}]}, "Must be 'user' or 'assistant'."),
        ({"messages": ["x"]}, "Must be a JSON object."),
        ({"mesages": 1}, "There is no such field in a spec."),
        (
            {"variables": [{"name": "b"}, {"name": " a"}, {"name": "a", "default": "{1}"}]},
            "There are two cards of the variable a, 2 and 3 in the list. Keep one of them, or give one another name.",
        ),
    ],
)
def test_the_sentence_speaks_to_the_author(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        spec.parse({**GOOD, **change})
    assert refused.value.message == sentence


def test_a_text_over_the_inline_limit_is_named_and_says_what_to_do() -> None:
    with pytest.raises(TooLarge) as refused:
        spec.parse({**GOOD, "messages": [{"role": "user", "content": "x" * 3_000_000}]})
    assert refused.value.field == "spec.messages.0.content"
    assert refused.value.status == 413
    assert "still in this page" in refused.value.kept


def test_an_absent_field_stays_absent_and_zero_stays_zero() -> None:
    plain = spec.parse({**GOOD, "temperature": 0, "top_k": 0, "system": None}).plain()
    assert repr(plain["temperature"]) == "0"
    assert plain["top_k"] == 0
    assert "system" not in plain
    assert "top_p" not in plain


def test_json_that_a_person_wrote_is_kept_to_the_character() -> None:
    written = '[ {"name":"b",  "input_schema": {"z":1,"a":2}} ]\n'
    assert spec.parse({**GOOD, "tools": written}).plain()["tools"] == written


def test_variables_may_come_as_a_mapping_and_names_are_kept_in_nfc() -> None:
    plain = spec.parse({**GOOD, "variables": {"cafe\u0301": {"default": "x"}, "b": "y"}}).plain()
    assert [card["name"] for card in plain["variables"]] == ["caf\u00e9", "b"]
    assert [card["default"] for card in plain["variables"]] == ["x", "y"]


def test_two_cards_of_one_name_stay_where_they_were_a_version_already() -> None:
    cards = [{"name": "a", "default": "1"}, {"name": "a", "default": "2"}]
    plain = spec.parse({**GOOD, "variables": cards}, is_new=False).plain()
    assert [card["default"] for card in plain["variables"]] == ["1", "2"]


def test_turns_name_their_field_too() -> None:
    with pytest.raises(InvalidInput) as refused:
        spec.parse_turns([{"role": "robot", "content": "x"}])
    assert refused.value.field == "messages.0.role"
    with pytest.raises(InvalidInput):
        spec.parse_turns([{"role": "user", "content": {"body": "a" * 64}}])
