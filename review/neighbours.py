"""What speaks for and against a place where the words of a passage were found: what stands around it. Pure.

The same words may stand in a text because they were copied there, or because another sentence came to read like that.
So a place counts only if the neighbours agree: those of the passage in the older text, and those of the place in the
newer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from review.likeness import likeness
from review.passages import Passage, character_start, code_points_in, occurrences, points_back, points_forth

#: Code points of a neighbour that tells a place apart; one of NEAR only where it stands in both texts once.
FAR, NEAR = 64, 32
#: More places than this are not looked at; what is said so often tells no place apart.
MOST_PLACES = 64
#: A neighbour shorter than this says nothing.
_LEAST = 8
#: Words at the old place that are as alike as this are the passage itself, edited.
_EDITED = 0.8
#: How far around, in bytes, the wider neighbourhood goes; how long its pieces are, and how many must be kept.
_AROUND, _DRIFT, _PIECE, _KEPT = 400, 200, 32, 2


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """What stands before and behind a passage, without the blanks next to it. Where a text begins or ends, that is a
    neighbour, too."""

    before: bytes
    after: bytes
    starts_text: bool
    ends_text: bool

    def befores(self, text: bytes) -> list[int]:
        """Where in `text` the one before ends, MOST_PLACES at most."""
        if code_points_in(self.before) < _LEAST:
            return [0] if self.starts_text else []
        return [each.end for each in occurrences(text, self.before, most=MOST_PLACES)]

    def afters(self, text: bytes) -> list[int]:
        """Where in `text` the one behind begins, MOST_PLACES at most."""
        if code_points_in(self.after) < _LEAST:
            return [len(text)] if self.ends_text else []
        return [each.start for each in occurrences(text, self.after, most=MOST_PLACES)]


def neighbours_of(text: bytes, passage: Passage, points: int) -> Neighbours:
    first, last = points_back(text, passage.start, points), points_forth(text, passage.end, points)
    return Neighbours(
        before=text[first : passage.start].rstrip(),
        after=text[passage.end : last].lstrip(),
        starts_text=first == 0,
        ends_text=last == len(text),
    )


@dataclass(frozen=True, kw_only=True)
class Site:
    """A passage of one text, or its supposed place in another."""

    text: bytes
    passage: Passage


def is_doubtful(was: Site, found: Site) -> bool:
    """Whether something speaks against `found` being where `was` went.

    Either the old neighbours still stand around other words: the passage was edited where it was, and what was found is
    a copy. Or the new neighbours stood around other words before: another passage has come to read like this one.
    """
    return (
        _stands_around_others(found, was, FAR)
        or _stands_around_others(was, found, FAR)
        or _stands_once_around_others(found, was)
        or _stands_once_around_others(was, found)
        or _is_edited_in_its_place(was, found)
    )


def is_vouched_for(was: Site, found: Site) -> bool:
    """Whether something speaks for `found`, though both its neighbours are new: those further off are the old ones, or
    it was taken out from between two neighbours and put between two others."""
    kept = sum(_kept_pieces(was, found))
    return kept >= _KEPT or (_stand_together(found.text, was) and _stand_together(was.text, found))


def _stands_around_others(there: Site, here: Site, points: int) -> bool:
    """Whether the neighbours of `here` stand in the other text with words between them, not around its passage."""
    around = neighbours_of(here.text, here.passage, points)
    befores, afters = around.befores(there.text), around.afters(there.text)
    if MOST_PLACES in (len(befores), len(afters)):
        return True
    room = 3 * here.passage.length + 4 * points
    return any(_holds_words(there.text, gap) for gap in _gaps(befores, afters, room, there.passage))


def _stands_once_around_others(there: Site, here: Site) -> bool:
    """As above for nearer neighbours, where each stands in either text just once: else they may be a coincidence."""
    around = neighbours_of(here.text, here.passage, NEAR)
    places = [around.befores(text) for text in (here.text, there.text)]
    places += [around.afters(text) for text in (here.text, there.text)]
    return all(len(each) == 1 for each in places) and _stands_around_others(there, here, NEAR)


def _gaps(befores: list[int], afters: list[int], room: int, own: Passage) -> Iterator[Passage]:
    for start in befores:
        for end in afters:
            if start <= end <= start + room and not (start <= own.start and own.end <= end):
                yield Passage(start=start, end=end)


def _holds_words(text: bytes, gap: Passage) -> bool:
    """Side by side, neighbours prove nothing: the words went away from between them, or came there."""
    return bool(text[gap.start : gap.end].strip())


def _is_edited_in_its_place(was: Site, found: Site) -> bool:
    """Whether next to the one place of an old neighbour stand words very much like the passage."""
    around = neighbours_of(was.text, was.passage, NEAR)
    room = was.passage.length + _LEAST
    for places in (around.befores, around.afters):
        there = places(found.text)
        if len(places(was.text)) != 1 or len(there) != 1:
            continue
        forth = places == around.befores
        near = _beside(found.text, there[0], room if forth else -room)
        apart = near.end < found.passage.start or found.passage.end < near.start
        words = was.text[was.passage.start : was.passage.end]
        if apart and likeness(found.text[near.start : near.end], words) >= _EDITED:
            return True
    return False


def _beside(text: bytes, offset: int, room: int) -> Passage:
    other = character_start(text, max(0, min(len(text), offset + room)))
    return Passage(start=min(offset, other), end=max(offset, other))


def _kept_pieces(was: Site, found: Site) -> Iterator[int]:
    """On either side: how many pieces of what stood around, each in either text just once, still stand around."""
    old, new = was.passage, found.passage
    sides = (
        (was.text[max(0, old.start - _AROUND) : old.start], max(0, new.start - _AROUND - _DRIFT), new.start),
        (was.text[old.end : old.end + _AROUND], new.end, new.end + _AROUND + _DRIFT),
    )
    for stood, first, last in sides:
        pieces = (stood[at : at + _PIECE] for at in range(0, len(stood) - _PIECE + 1, _PIECE // 2))
        near = found.text[first:last]
        yield sum(
            1 for each in pieces if each in near and _stands_once(was.text, each) and _stands_once(found.text, each)
        )


def _stands_once(text: bytes, words: bytes) -> bool:
    return len(occurrences(text, words, most=2)) == 1


def _stand_together(text: bytes, site: Site) -> bool:
    """Whether the neighbours of `site` stand in `text` next to each other."""
    around = neighbours_of(site.text, site.passage, NEAR)
    ends = around.afters(text)
    return any(start <= end and not text[start:end].strip() for start in around.befores(text) for end in ends)
