from __future__ import annotations

import pytest

from core import errors


def every_error() -> list[type[errors.DomainError]]:
    found, queue = [], [errors.DomainError]
    while queue:
        kind = queue.pop()
        found.append(kind)
        queue += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == "core.errors"]


@pytest.mark.parametrize("kind", every_error())
def test_every_error_has_a_status_a_code_and_a_sentence(kind: type[errors.DomainError]) -> None:
    error = kind()

    assert 400 <= error.status <= 503
    assert error.code.replace("_", "").isalpha()
    assert error.message.endswith(".")
    assert str(error) == error.message


def test_the_codes_differ() -> None:
    codes = [kind.code for kind in every_error()]

    assert len(codes) == len(set(codes))


def test_only_what_there_is_goes_into_the_answer() -> None:
    assert errors.NotFound().as_json() == {
        "code": "not_found",
        "message": "There is nothing here, or it is not shared with you.",
    }
    full = errors.InvalidInput(
        "Too hot.", code="temperature", field="spec.temperature", data={"max": 1}, kept="The draft.", next_step="Cool."
    )
    assert full.as_json() == {
        "code": "temperature",
        "message": "Too hot.",
        "field": "spec.temperature",
        "data": {"max": 1},
        "kept": "The draft.",
        "next": "Cool.",
    }


def test_an_empty_word_takes_the_standing_advice_away() -> None:
    assert "next" not in errors.Unavailable(next_step="").as_json()
