"""Parameters of a run in place of the version's: checked like a spec, 0 is a value, null leaves one out."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import InvalidInput
from playground import overrides

SPEC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "temperature": 1,
    "top_k": 5,
    "messages": [{"role": "user", "content": "x"}],
    "variables": [{"name": "a", "type": "text"}],
}


def test_a_value_replaces_zero_included_and_null_leaves_out() -> None:
    given = overrides.checked({"temperature": 0, "top_k": None, "max_tokens": 7, "stop_sequences": ["\n"]})
    changed = overrides.applied(SPEC, given)
    assert changed == {
        "model": "m",
        "max_tokens": 7,
        "temperature": 0,
        "stop_sequences": ["\n"],
        "messages": SPEC["messages"],
        "variables": SPEC["variables"],
    }
    assert list(changed) == ["model", "max_tokens", "temperature", "stop_sequences", "messages", "variables"]
    assert SPEC["top_k"] == 5


def test_a_number_stays_as_it_was_written() -> None:
    assert str(overrides.checked({"temperature": 0, "top_p": 1.0})) == "{'temperature': 0, 'top_p': 1.0}"


def test_without_overrides_the_spec_is_as_it_was() -> None:
    assert overrides.applied(SPEC, overrides.checked({})) == SPEC


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "parameters"),
        ({"system": "x"}, "parameters.system"),
        ({"model": "x"}, "parameters.model"),
        ({"max_tokens": None}, "parameters.max_tokens"),
        ({"max_tokens": 0}, "parameters.max_tokens"),
        ({"temperature": "0"}, "parameters.temperature"),
        ({"temperature": 2}, "parameters.temperature"),
        ({"temperature": True}, "parameters.temperature"),
        ({"top_k": 1.5}, "parameters.top_k"),
        ({"stop_sequences": ["a", ""]}, "parameters.stop_sequences.1"),
        ({"thinking": "on"}, "parameters.thinking"),
        ({"api_version": "1999-01-01"}, "parameters.api_version"),
        ({"api_version": "2026-10-21", "temperature": 0}, "parameters.temperature"),
    ],
)
def test_what_a_spec_refuses_is_refused_at_its_place(raw: object, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        overrides.checked(raw)
    assert refused.value.field == field


def test_the_whole_is_checked_with_what_the_version_has() -> None:
    given = overrides.checked({"api_version": "2026-10-21"}, field="columns.1.parameters")
    with pytest.raises(InvalidInput) as refused:
        overrides.applied(SPEC, given, field="columns.1.parameters")
    assert refused.value.field == "columns.1.parameters.temperature"
    without = overrides.checked({"api_version": "2026-10-21", "temperature": None, "top_k": None})
    assert overrides.applied(SPEC, without)["api_version"] == "2026-10-21"
