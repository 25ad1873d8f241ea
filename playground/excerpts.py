"""A few words of a text around what was looked for, with the places of the hits. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BEFORE = 50
LENGTH = 200
_BLANK = re.compile(r"[^\S ]|[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """`text` is one line; `hits` are (start, end) in code points of it."""

    text: str
    hits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Word:
    """A word that was looked for, in lower case; `prefix`: longer words that start with it are hits too."""

    text: str
    prefix: bool = False


def excerpt(text: str, words: Sequence[Word]) -> Excerpt | None:
    """The place of the first hit with its surroundings, or None if no word is there. Every character keeps its place:
    line breaks and control characters become blanks, nothing is collapsed.
    """
    if not words:
        return None
    pattern = _pattern(words)
    first = pattern.search(text)
    if first is None:
        return None
    start = max(0, first.start() - BEFORE)
    cut = text[start : max(start + LENGTH, first.end())][: LENGTH * 2]
    hits = tuple((first.start(), first.end()) for first in pattern.finditer(cut))
    return Excerpt(text=_BLANK.sub(" ", cut), hits=hits)


def _pattern(words: Sequence[Word]) -> re.Pattern[str]:
    """Longest first, or a short word would win over the long one that it begins."""
    ordered = sorted(words, key=lambda word: -len(word.text))
    parts = [re.escape(word.text) + (r"\w*" if word.prefix else r"(?!\w)") for word in ordered]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})", re.IGNORECASE)
