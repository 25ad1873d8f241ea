"""Finding one's way in a long text without drawing it: where lines are, and where something is written. Pure.

Texts are UTF-8 bytes, places are byte offsets at the start of a character, lines end at LF only and count from 1.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

STEP = 64 * 1024
_CONTINUATION = bytes(range(0x80, 0xC0))
_BELOW_FOUR_BYTES = bytes(range(0xF0))
_SEARCHED_AT_ONCE = 256 * 1024
_CONTEXT = 60


@dataclass(frozen=True, kw_only=True)
class Landmark:
    """A place in a text, one about every 64 KiB. `line` is the line it is in; `utf16` is its offset in UTF-16 units."""

    offset: int
    line: int
    utf16: int


@dataclass(frozen=True, kw_only=True)
class LineIndex:
    """`lines`: line feeds plus one, as an editor numbers them; `longest_line`: in bytes, without its line feed."""

    byte_length: int
    lines: int
    longest_line: int
    landmarks: tuple[Landmark, ...]

    def line_at(self, text: bytes, offset: int) -> int:
        """The line that `offset` of `text`, the indexed one, is in."""
        found = bisect_right(self.landmarks, offset, key=lambda mark: mark.offset)
        mark = self.landmarks[max(0, found - 1)]
        return mark.line + text.count(b"\n", mark.offset, offset)


def index_lines(text: bytes) -> LineIndex:
    """One pass over the text: about 5 ms a megabyte."""
    marks, line, utf16, longest, open_line = [], 1, 0, 0, 0
    for start, end in _steps(text):
        marks.append(Landmark(offset=start, line=line, utf16=utf16))
        piece = text[start:end]
        first, *others = map(len, piece.split(b"\n"))
        longest = max(longest, open_line + first, *others[:-1])
        open_line = others[-1] if others else open_line + first
        line += len(others)
        utf16 += len(piece.translate(None, _CONTINUATION)) + len(piece.translate(None, _BELOW_FOUR_BYTES))
    return LineIndex(
        byte_length=len(text), lines=line, longest_line=max(longest, open_line), landmarks=tuple(marks) or (_START,)
    )


_START = Landmark(offset=0, line=1, utf16=0)


def _steps(text: bytes) -> Iterator[tuple[int, int]]:
    """Stretches of about STEP bytes that do not cut a character."""
    start = 0
    while start < len(text):
        end = character_start(text, start + STEP)
        yield start, end
        start = end


def character_start(text: bytes, offset: int) -> int:
    """`offset`, or the start of the character it is inside of."""
    if offset >= len(text):
        return len(text)
    while offset > 0 and text[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


@dataclass(frozen=True, kw_only=True)
class Match:
    """`before` and `after` are what stands beside it, cut short, across line ends."""

    offset: int
    length: int
    line: int
    before: str
    match: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """`next`: where to go on searching from; None at the end of the text."""

    matches: tuple[Match, ...]
    next: int | None


def search(
    text: bytes,
    index: LineIndex,
    words: str,
    *,
    start: int = 0,
    match_case: bool = False,
    most: int = 100,
    out_of_time: Callable[[], bool],
) -> Found:
    """Where `words` (literal, not empty) stand at or behind byte `start`, up to `most` places that do not overlap.

    Gives up where it is when `out_of_time` says so; it is asked a few times a megabyte.
    """
    pattern = re.compile(re.escape(words), 0 if match_case else re.IGNORECASE)
    # What is found may be longer in bytes than what was asked for: K (Kelvin) is a k of three bytes.
    overlap = 4 * len(words)
    matches: list[Match] = []
    place = character_start(text, max(0, start))
    while place < len(text):
        end = character_start(text, place + _SEARCHED_AT_ONCE)
        stretch = text[place : character_start(text, end + overlap)].decode("utf-8")
        read, place_of = 0, place
        for found in pattern.finditer(stretch):
            place_of += len(stretch[read : found.start()].encode("utf-8"))
            read = found.start()
            if place_of >= end:
                break
            matches.append(_match(text, index, place_of, found.group()))
            if len(matches) == most:
                return Found(matches=tuple(matches), next=_behind(matches[-1], text))
        last = matches[-1].offset + matches[-1].length if matches else 0
        place = max(end, last)
        if out_of_time() and place < len(text):
            return Found(matches=tuple(matches), next=place)
    return Found(matches=tuple(matches), next=None)


def _behind(match: Match, text: bytes) -> int | None:
    end = match.offset + match.length
    return end if end < len(text) else None


def _match(text: bytes, index: LineIndex, offset: int, match: str) -> Match:
    length = len(match.encode("utf-8"))
    end = offset + length
    before = text[character_start(text, max(0, offset - _CONTEXT)) : offset]
    after = text[end : character_start(text, end + _CONTEXT)]
    return Match(
        offset=offset,
        length=length,
        line=index.line_at(text, offset),
        before=before.decode("utf-8"),
        match=match,
        after=after.decode("utf-8"),
    )
