"""A place is counted in bytes, code points and UTF-16 units, and all three mean the same characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidInput
from review.passages import MAX_PASSAGE, Passage, Range, Unit, cuts_a_letter, passage_at, places_of

UGLY = "a🙂\r\ne\u0301 שלום 👩‍👧 他\ufeff"


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=200), st.data())
def test_each_unit_finds_the_same_characters(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    raw = text.encode()
    ranges: dict[Unit, tuple[int, int]] = {
        "code_points": (first, last),
        "utf16": (utf16(text[:first]), utf16(text[:last])),
        "bytes": (len(text[:first].encode()), len(text[:last].encode())),
    }
    for unit, (start, end) in ranges.items():
        found = passage_at(raw, start, end, unit)
        assert raw[found.start : found.end].decode() == text[first:last]
        places = places_of(raw, found)
        assert getattr(places, unit) == Range(start=start, end=end)


def test_a_character_above_ffff_is_one_code_point_two_units_and_four_bytes() -> None:
    raw = UGLY.encode()
    places = places_of(raw, passage_at(raw, 1, 2, "code_points"))
    assert places.code_points == Range(start=1, end=2)
    assert places.utf16 == Range(start=1, end=3)
    assert places.bytes == Range(start=1, end=5)


def test_cr_and_lf_are_two_characters() -> None:
    raw = UGLY.encode()
    assert raw[slice(*_bounds(passage_at(raw, 2, 4, "code_points")))] == b"\r\n"


def _bounds(passage: Passage) -> tuple[int, int]:
    return passage.start, passage.end


@pytest.mark.parametrize(("start", "end", "unit"), [(2, 4, "utf16"), (2, 5, "bytes"), (0, 2, "utf16")])
def test_half_a_character_is_refused(start: int, end: int, unit: Unit) -> None:
    with pytest.raises(InvalidInput):
        passage_at(UGLY.encode(), start, end, unit)


@pytest.mark.parametrize("unit", ["code_points", "utf16", "bytes"])
@pytest.mark.parametrize(("start", "end"), [(0, 0), (5, 4), (-1, 3), (0, 10_000), (9_999, 10_000)])
def test_what_is_empty_or_outside_is_refused(start: int, end: int, unit: Unit) -> None:
    with pytest.raises(InvalidInput) as refused:
        passage_at(UGLY.encode(), start, end, unit)
    assert refused.value.field == "passage"


def test_a_passage_has_a_limit() -> None:
    raw = ("🙂" * (MAX_PASSAGE + 1)).encode()
    assert passage_at(raw, 0, MAX_PASSAGE, "code_points").length == 4 * MAX_PASSAGE
    with pytest.raises(InvalidInput, match="2,000"):
        passage_at(raw, 0, MAX_PASSAGE + 1, "code_points")


def test_places_far_into_a_long_text_are_right() -> None:
    line = "é🙂 und so weiter\n"
    text = line * 20_000 + "Hier."
    raw = text.encode()
    passage = passage_at(raw, len(text) - 5, len(text), "code_points")
    assert raw[passage.start : passage.end] == b"Hier."
    places = places_of(raw, passage)
    assert places.utf16 == Range(start=utf16(line) * 20_000, end=utf16(line) * 20_000 + 5)
    assert passage_at(raw, places.utf16.start, places.utf16.end, "utf16") == passage


@pytest.mark.parametrize(
    ("text", "start", "end", "cut"),
    [
        ("cafe\u0301s", 0, 4, True),
        ("cafe\u0301s", 0, 5, False),
        ("a\r\nb", 0, 2, True),
        ("a\r\nb", 0, 3, False),
        ("👩\u200d👧!", 0, 1, True),
        ("👩\u200d👧!", 0, 3, False),
        ("❤\ufe0f!", 0, 1, True),
        ("plain words", 0, 5, False),
    ],
)
def test_a_letter_can_be_more_than_one_character(text: str, start: int, end: int, *, cut: bool) -> None:
    raw = text.encode()
    assert cuts_a_letter(raw, passage_at(raw, start, end, "code_points")) is cut
