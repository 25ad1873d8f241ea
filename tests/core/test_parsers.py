from __future__ import annotations

import io

import pytest
from django.test import override_settings

from core.errors import InvalidInput, TooLarge
from core.parsers import StrictJSONParser, parse_json, refuse_surrogates


def refused(raw: bytes) -> InvalidInput:
    with pytest.raises(InvalidInput) as error:
        parse_json(raw)
    return error.value


def test_plain_json_is_read_as_it_is() -> None:
    assert parse_json('{"a": [1, 2.5, null, "é\\u0000\\ud83d\\ude00"]}'.encode()) == {"a": [1, 2.5, None, "é\x00😀"]}


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"{'a': 1}", b"nope", b"[1,]", b'{"a": NaN}', b"[Infinity]", b"[-Infinity]"]
)
def test_what_is_no_json_is_said_to_be_none(raw: bytes) -> None:
    error = refused(raw)

    assert (error.code, error.field, error.status) == ("invalid_json", "body", 400)


def test_broken_utf8_is_named_by_its_byte() -> None:
    error = refused(b'{"a": "\xff"}')

    assert error.code == "invalid_utf8"
    assert "byte 7" in error.message


def test_half_a_character_is_named_by_path_and_position() -> None:
    error = refused(rb'{"messages": [{"content": "ab\ud83dc"}]}')

    assert (error.code, error.field, error.data) == ("lone_surrogate", "messages.0.content", {"position": 2})


def test_half_a_character_in_a_key_is_found_too() -> None:
    assert refused(rb'{"\udc00": 1}').code == "lone_surrogate"


def test_a_tower_of_brackets_is_refused_and_does_not_break_the_server() -> None:
    assert refused(b"[" * 100_000 + b"]" * 100_000).status == 400
    assert refused(b"[" * 70 + b"]" * 70).code == "too_deep"


def test_a_number_of_a_million_digits_is_refused() -> None:
    assert refused(b"1" * 1_000_000).status == 400


def test_a_text_may_hold_what_looks_like_a_surrogate() -> None:
    refuse_surrogates("\\ud83d")


def test_a_body_over_the_limit_is_refused_without_being_read_to_its_end() -> None:
    stream = io.BytesIO(b" " * 100)
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10), pytest.raises(TooLarge) as error:
        StrictJSONParser().parse(stream)

    assert error.value.status == 413
    assert stream.tell() == 11


def test_the_message_never_repeats_the_body() -> None:
    assert "hunter2" not in refused(b'{"password": "hunter2').message
