"""Lines and words of long texts: pure, against the plain way of finding them."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from playground.api.ranges import Unsatisfiable, parse_range
from playground.long_texts import STEP, Found, index_lines, search

MIXED = "Zeile eins\r\nzwei 👋🏽 und é\n\n\tdrei\n" * 9000 + "x" * 200_000 + "\nlast, without an end"


def never() -> bool:
    return False


@pytest.mark.parametrize(
    "text",
    ["", "a", "\n", "a\n", "\n" * 70_000, "👋" * 40_000, MIXED, "é" * 32_767 + "👋" + "\n" * 5, "a\r\nb\rc"],
    ids=["empty", "one", "lf", "ends in lf", "only lf", "only emoji", "mixed", "emoji on the step", "cr"],
)
def test_the_index_says_what_counting_says(text: str) -> None:
    data = text.encode()
    index = index_lines(data)
    lines = data.split(b"\n")
    assert (index.byte_length, index.lines) == (len(data), len(lines))
    assert index.longest_line == max(map(len, lines))
    assert index.landmarks[0].offset == 0
    for mark in index.landmarks:
        before = data[: mark.offset].decode()
        assert (mark.line, mark.utf16) == (before.count("\n") + 1, len(before.encode("utf-16-le")) // 2)
    offsets = [mark.offset for mark in index.landmarks]
    assert all(STEP - 3 <= b - a <= STEP for a, b in pairwise(offsets))


def plainly(text: str, words: str, flags: int) -> list[tuple[int, int, str]]:
    """Byte offset, line and match of each place."""
    found, read, offset, line = [], 0, 0, 1
    for place in re.finditer(re.escape(words), text, flags):
        between = text[read : place.start()]
        read, offset, line = place.start(), offset + len(between.encode()), line + between.count("\n")
        found.append((offset, line, place.group()))
    return found


def places(found: Found) -> list[tuple[int, int, str]]:
    return [(match.offset, match.line, match.match) for match in found.matches]


@pytest.mark.parametrize("words", ["drei\n", "👋🏽", "ZEILE", "é", "x" * 1000, "eins\r\nzwei", "last", "absent", "."])
@pytest.mark.parametrize("match_case", [True, False])
def test_everything_is_found_where_it_is(words: str, match_case: bool) -> None:
    data = MIXED.encode()
    found = search(data, index_lines(data), words, match_case=match_case, most=100_000, out_of_time=never)
    assert places(found) == plainly(MIXED, words, 0 if match_case else re.IGNORECASE)
    assert found.next is None


def test_going_on_from_next_finds_the_same_as_one_search() -> None:
    data = MIXED.encode()
    index = index_lines(data)
    whole = places(search(data, index, "zwei", most=100_000, out_of_time=never))
    found: list[tuple[int, int, str]] = []
    at: int | None = 0
    while at is not None:
        part = search(data, index, "zwei", start=at, most=700, out_of_time=never)
        found += places(part)
        at = part.next
    assert found == whole
    assert len(whole) == 9000


def test_a_search_out_of_time_says_where_to_go_on() -> None:
    data = b"a" * 1_000_000 + b"needle"
    index = index_lines(data)
    first = search(data, index, "needle", out_of_time=lambda: True)
    assert first.matches == ()
    assert first.next == 256 * 1024
    assert len(search(data, index, "needle", start=first.next, out_of_time=never).matches) == 1


def test_words_across_the_border_of_two_stretches_are_found_once() -> None:
    data = b"." * (256 * 1024 - 3) + "nädel".encode() + b"." * 300_000
    found = search(data, index_lines(data), "NÄDEL", out_of_time=never)
    assert [match.offset for match in found.matches] == [256 * 1024 - 3]


def test_what_stands_beside_a_match_cuts_no_character() -> None:
    data = ("👋" * 50 + "needle" + "é" * 100).encode()
    (match,) = search(data, index_lines(data), "needle", out_of_time=never).matches
    assert set(match.before) == {"👋"}
    assert set(match.after) == {"é"}
    assert (match.offset, match.length, match.match) == (200, 6, "needle")


def test_a_start_inside_a_character_or_behind_the_end_is_no_error() -> None:
    data = "👋needle".encode()
    index = index_lines(data)
    assert len(search(data, index, "needle", start=2, out_of_time=never).matches) == 1
    assert search(data, index, "needle", start=99, out_of_time=never) == Found(matches=(), next=None)


def test_random_texts_are_indexed_and_searched_like_the_plain_way() -> None:
    draw = random.Random(7)
    for _ in range(20):
        text = "".join(draw.choice("ab\nK\u212aé👋") for _ in range(draw.randrange(150_000)))
        data = text.encode()
        found = search(data, index_lines(data), "kb", most=10**6, out_of_time=never)
        assert places(found) == plainly(text, "kb", re.IGNORECASE)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-0", (0, 0)),
        ("bytes=0-", (0, 9)),
        ("bytes=3-5", (3, 5)),
        ("bytes=3-99", (3, 9)),
        ("bytes=-4", (6, 9)),
        ("bytes=-99", (0, 9)),
        ("bytes=5-3", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
        ("bytes=" + "9" * 30 + "-", None),
    ],
)
def test_a_range_is_read(header: str | None, expected: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == expected


@pytest.mark.parametrize(("header", "length"), [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=-5", 0)])
def test_a_range_behind_the_end_cannot_be_had(header: str, length: int) -> None:
    with pytest.raises(Unsatisfiable):
        parse_range(header, length)
