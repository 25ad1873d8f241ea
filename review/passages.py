"""Places in a text, in the three units that meet here. Pure.

Texts are kept as UTF-8 and read by byte ranges, people and the API count code points, a browser counts UTF-16 units: a
place is therefore always given in all three, computed once from the text itself. Nothing is normalised: CRLF is two
characters, an NFD letter is its base and its mark, a joined emoji is as many code points as it has.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from core.errors import InvalidInput

#: Of a passage, in code points: a comment on more than this is one on the whole version.
MAX_PASSAGE = 2000
Unit = Literal["code_points", "utf16", "bytes"]

_CONTINUATION = bytes(range(0x80, 0xC0))
_BELOW_FOUR_BYTES = bytes(range(0xF0))
_STEP = 64 * 1024
_JOINER = 0x200D


@dataclass(frozen=True, kw_only=True, order=True)
class Passage:
    """Bytes [start, end) of a UTF-8 text, both at the start of a character (or the end of the text)."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, kw_only=True)
class Range:
    """[start, end) in one unit."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Places:
    """One passage in every unit."""

    bytes: Range
    code_points: Range
    utf16: Range


def places_of(text: bytes, passage: Passage) -> Places:
    """Where `passage` of `text` is, in every unit: one pass over what is before it, about 1 ms a megabyte."""
    before, inside = text[: passage.start], text[passage.start : passage.end]
    points, units = code_points_in(before), utf16_in(before)
    return Places(
        bytes=Range(start=passage.start, end=passage.end),
        code_points=Range(start=points, end=points + code_points_in(inside)),
        utf16=Range(start=units, end=units + utf16_in(inside)),
    )


def code_points_in(text: bytes) -> int:
    return len(text.translate(None, _CONTINUATION))


def utf16_in(text: bytes) -> int:
    """UTF-16 units: one for each character, and one more for each above U+FFFF (four bytes in UTF-8)."""
    return code_points_in(text) + len(text.translate(None, _BELOW_FOUR_BYTES))


def passage_at(text: bytes, start: int, end: int, unit: Unit) -> Passage:
    """The passage [start, end) of `text`, counted in `unit`.

    Raises InvalidInput for a range that is empty, too long, outside the text, or cuts a character.
    """
    if not 0 <= start < end:
        raise InvalidInput("A passage has at least one character.", field="passage")
    first, last = (_byte_offset(text, offset, unit) for offset in (start, end))
    if code_points_in(text[first:last]) > MAX_PASSAGE:
        raise InvalidInput(
            f"A passage has at most {MAX_PASSAGE:,} characters.",
            field="passage",
            code="passage_too_long",
            next_step="Choose the part that matters most, or comment on the whole version.",
        )
    return Passage(start=first, end=last)


def _byte_offset(text: bytes, offset: int, unit: Unit) -> int:
    if unit == "bytes":
        if offset > len(text) or (offset < len(text) and text[offset] & 0xC0 == 0x80):
            raise _outside()
        return offset
    count = utf16_in if unit == "utf16" else code_points_in
    start, left = 0, offset
    while start < len(text):
        end = character_start(text, start + _STEP)
        here = count(text[start:end])
        if left < here:
            return start + _within(text[start:end].decode("utf-8"), left, unit)
        left -= here
        start = end
    if left:
        raise _outside()
    return len(text)


def _within(text: str, offset: int, unit: Unit) -> int:
    if unit == "code_points":
        return len(text[:offset].encode("utf-8"))
    try:
        return len(text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le").encode("utf-8"))
    except UnicodeDecodeError as error:  # between the two halves of a character
        raise _outside() from error


def _outside() -> InvalidInput:
    return InvalidInput("This passage is not in the text, or cuts a character.", field="passage")


def character_start(text: bytes, offset: int) -> int:
    """`offset`, or the start of the character it is inside of."""
    if offset >= len(text):
        return len(text)
    while offset > 0 and text[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def points_back(text: bytes, offset: int, points: int) -> int:
    """The byte offset of what is `points` code points before `offset`, or 0."""
    near = text[character_start(text, max(0, offset - 4 * points)) : offset].decode("utf-8")
    return offset - len(near[-points:].encode("utf-8"))


def points_forth(text: bytes, offset: int, points: int) -> int:
    """The byte offset of what is `points` code points behind `offset`, or the end of the text."""
    near = text[offset : character_start(text, offset + 4 * points)].decode("utf-8")
    return offset + len(near[:points].encode("utf-8"))


def occurrences(text: bytes, words: bytes, *, most: int) -> list[Passage]:
    """Up to `most` places of `words`, overlapping ones too. UTF-8 is such that none of them cuts a character."""
    found: list[Passage] = []
    at = text.find(words) if words else -1
    while at >= 0 and len(found) < most:
        found.append(Passage(start=at, end=at + len(words)))
        at = text.find(words, at + 1)
    return found


def cuts_a_letter(text: bytes, passage: Passage) -> bool:
    """Whether an end of `passage` parts what is seen as one: a letter and its mark, a joined emoji, CR and LF."""
    return any(_is_inside_letter(text, offset) for offset in (passage.start, passage.end))


def _is_inside_letter(text: bytes, offset: int) -> bool:
    if not 0 < offset < len(text):
        return False
    after = text[offset : offset + 4].decode("utf-8", "ignore")[:1]
    before = text[max(0, offset - 4) : offset].decode("utf-8", "ignore")[-1:]
    if after == "\n" and before == "\r":
        return True
    joined = ord(after) == _JOINER or ord(before) == _JOINER
    return joined or bool(unicodedata.combining(after)) or "\ufe00" <= after <= "\ufe0f"
