"""The stretch of a text that is most like some words: a guess, for a person to confirm. Pure and bounded.

Candidates come from exact searches only: what stands between the old neighbours, and what stands where pieces of the
words are found. Each is then compared once, character by character, with a time limit of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import fast_diff_match_patch

from review.passages import Passage, character_start

#: Below this, a guess is more often wrong than right.
LEAST = 0.6
#: Bytes of a piece that is searched for; candidates compared; seconds for one comparison.
_PIECE = 12
_MOST_PIECES = 12
_MOST_FOUND = 24
_MOST_COMPARED = 24
_COMPARE_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Alike:
    """`likeness`: twice the characters in common, of those of both: 0 to 1."""

    passage: Passage
    likeness: float


def most_alike(text: bytes, words: bytes, prefix: bytes, suffix: bytes, *, near: int) -> Alike | None:
    """The passage of `text` that is most like `words`, if one is LEAST alike; of equals, the one nearest to `near`.

    What stands between both old neighbours goes before anything else that is alike.
    """
    best: Alike | None = None
    for candidate, cut in _candidates(text, words, prefix, suffix, near):
        found = _compared(text, candidate, words, cut=cut)
        if found is None or found.likeness < LEAST:
            continue
        if not cut:
            return found
        if best is None or found.likeness > best.likeness:
            best = found
    return best


def likeness(text: bytes, words: bytes) -> float:
    """How alike the likest part of a short `text` is to `words`: 0 to 1."""
    found = _compared(text, Passage(start=0, end=len(text)), words, cut=True)
    return found.likeness if found else 0.0


def _candidates(text: bytes, words: bytes, prefix: bytes, suffix: bytes, near: int) -> list[tuple[Passage, bool]]:
    """Each with whether its ends are a guess: those of what stands between both old neighbours are not."""
    between = dict(_between(text, words, prefix, suffix))
    pieces = sorted(set(_around_pieces(text, words)), key=lambda each: abs(each.start - near))
    surest = sorted(between.items(), key=lambda each: each[1])
    return [*surest, *((each, True) for each in pieces if each not in between)][:_MOST_COMPARED]


def _between(text: bytes, words: bytes, prefix: bytes, suffix: bytes) -> Iterator[tuple[Passage, bool]]:
    """What follows the old prefix, up to the old suffix if that comes soon; and what precedes the old suffix."""
    room = 2 * len(words) + 64
    before, after = (
        prefix[-_PIECE * 2 :].lstrip(bytes(range(0x80, 0xC0))),
        suffix[: character_start(suffix, _PIECE * 2)],
    )
    if len(before.strip()) >= _PIECE // 2:
        for at in _places(text, before):
            start = at + len(before)
            end = text.find(after, start, start + room) if after.strip() else -1
            yield _whole(text, start, end if end > start else start + len(words)), end <= start
    if len(after.strip()) >= _PIECE // 2:
        for at in _places(text, after):
            yield _whole(text, at - len(words), at), True


def _around_pieces(text: bytes, words: bytes) -> Iterator[Passage]:
    """Where a piece of the words stands, the words would begin as far before it as it is from their beginning."""
    step = max(_PIECE, len(words) // _MOST_PIECES)
    for offset in range(0, max(1, len(words) - _PIECE + 1), step):
        for at in _places(text, words[offset : offset + _PIECE]):
            start = at - offset
            yield _whole(text, start, start + len(words) + len(words) // 4)


def _places(text: bytes, words: bytes) -> Iterator[int]:
    """Nothing at all for what is found too often: it is no help."""
    found: list[int] = []
    at = text.find(words) if words else -1
    while at >= 0:
        found.append(at)
        if len(found) > _MOST_FOUND:
            return
        at = text.find(words, at + 1)
    yield from found


def _whole(text: bytes, start: int, end: int) -> Passage:
    """Whole characters inside the text."""
    first = character_start(text, max(0, start))
    return Passage(start=first, end=max(first, character_start(text, min(len(text), end))))


def _compared(text: bytes, candidate: Passage, words: bytes, *, cut: bool) -> Alike | None:
    """How alike the candidate is; if `cut`, only where its likeness begins and ends."""
    here, wanted = (each.decode("utf-8") for each in (text[candidate.start : candidate.end], words))
    if not here.strip():
        return None
    ops = fast_diff_match_patch.diff(wanted, here, timelimit=_COMPARE_S, checklines=False, cleanup="Semantic")
    lead, trail = _inserted_at_ends(ops, here) if cut else (0, 0)
    inside = here[lead : len(here) - trail]
    lead += len(inside) - len(inside.lstrip())
    inside = inside.strip()
    common = sum(length for op, length in ops if op == "=")
    if not inside or not common:
        return None
    start = candidate.start + len(here[:lead].encode("utf-8"))
    passage = Passage(start=start, end=start + len(inside.encode("utf-8")))
    return Alike(passage=passage, likeness=round(min(1, 2 * common / (len(wanted) + len(inside))), 4))


def _inserted_at_ends(ops: list[tuple[str, int]], here: str) -> tuple[int, int]:
    """How much of `here` stands before and behind everything that both have in common."""
    kept = [index for index, (op, _) in enumerate(ops) if op == "="]
    if not kept:
        return 0, len(here)
    lead = sum(length for op, length in ops[: kept[0]] if op == "+")
    trail = sum(length for op, length in ops[kept[-1] + 1 :] if op == "+")
    # A word that was put in place of the first or last one belongs to the passage: as much as was taken away stays.
    taken = sum(length for op, length in ops[: kept[0]] if op == "-")
    dropped = sum(length for op, length in ops[kept[-1] + 1 :] if op == "-")
    return max(0, lead - taken), max(0, trail - dropped)
