from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.text import MAX_BYTES, MAX_CODE_POINTS, clean_body
from core.errors import InvalidInput

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", "half \udfff", "", "   ", "\u200b\u200d", "\n\t"])
def test_what_can_never_be_sent_is_refused_for_good(bad: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clean_body(bad)

    assert refused.value.code in ("bad_text", "empty")


def test_a_family_of_emoji_stays_whole_with_its_joiners() -> None:
    assert clean_body(FAMILY + "\u2764\ufe0f") == FAMILY + "\u2764\ufe0f"


def test_a_text_that_is_too_long_is_refused_whole_and_not_cut_through_an_emoji() -> None:
    with pytest.raises(InvalidInput) as refused:
        clean_body("x" * (MAX_CODE_POINTS - 3) + FAMILY)

    assert refused.value.code == "too_long"


def test_letters_are_composed() -> None:
    assert clean_body("e\u0301") == "\u00e9"


def test_controls_go_and_newline_and_tab_stay() -> None:
    assert clean_body("a\x07b\x1b[31m\r\nc\td\x7f") == "ab[31m\nc\td"


def test_the_longest_message_of_the_widest_characters_fits_into_the_bytes() -> None:
    widest = "\U0001f600" * MAX_CODE_POINTS

    assert clean_body(widest) == widest
    assert len(widest.encode()) <= MAX_BYTES


def test_four_thousand_newlines_with_a_word_are_a_message() -> None:
    assert clean_body("a" + "\n" * (MAX_CODE_POINTS - 1)).count("\n") == MAX_CODE_POINTS - 1


@given(st.text(max_size=200))
def test_what_is_kept_is_stable_and_within_the_rules(given_text: str) -> None:
    try:
        kept = clean_body(given_text)
    except InvalidInput:
        return
    assert clean_body(kept) == kept
    assert unicodedata.is_normalized("NFC", kept)
    assert len(kept) <= MAX_CODE_POINTS
    assert "\0" not in kept
    assert "\r" not in kept
