"""A few words of a text around what was looked for, with the places of the hits. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from playground import words

BEFORE = 50
LENGTH = 200
_BLANK = re.compile(r"[^\S ]|[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """`text` is one line; `hits` are (start, end) in code points of it."""

    text: str
    hits: tuple[tuple[int, int], ...]


def excerpt(text: str, operands: Sequence[words.Operand]) -> Excerpt | None:
    """The place of the first hit with its surroundings, or None if there is none. Nothing is collapsed: line breaks and
    control characters become one blank each.
    """
    if not operands:
        return None
    text = unicodedata.normalize("NFC", text)
    pattern = words.pattern(operands)
    first = pattern.search(text)
    if first is None:
        return None
    start = max(0, first.start() - BEFORE)
    cut = text[start : max(start + LENGTH, first.end())][: LENGTH * 2]
    hits = tuple((hit.start(), hit.end()) for hit in pattern.finditer(cut))
    return Excerpt(text=_BLANK.sub(" ", cut), hits=hits)
