"""How many runs each batch may have on their way at once. Pure.

The places are shared out by person first and by batch then, so that ten batches of one person take no more than one
batch of another.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Batch = TypeVar("Batch", bound=Hashable)


def shares(running: Sequence[tuple[Batch, Hashable]], places: int) -> dict[Batch, int]:
    """For each running batch (with its maker; oldest first) its places. Those of batches together are at most `places`.

    Whoever has a place keeps at least one as long as older batches than theirs end; with more batches than places, the
    youngest of who has most of them wait.
    """
    by_person: dict[Hashable, list[Batch]] = {}
    for batch, person in running:
        by_person.setdefault(person, []).append(batch)
    order = _in_turns(list(by_person.values()))
    given = dict.fromkeys(order, 0)
    people = dict(running)
    held = dict.fromkeys(by_person, 0)
    for _ in range(places):
        if not order:
            break
        # Who has least comes first; among their batches the one with least; the oldest where that is equal.
        batch = min(order, key=lambda each: (held[people[each]], given[each]))
        given[batch] += 1
        held[people[batch]] += 1
    return given


def _in_turns(lists: Sequence[Sequence[Batch]]) -> list[Batch]:
    """The first of each list, then the second of each, and so on."""
    longest = max((len(each) for each in lists), default=0)
    return [each[turn] for turn in range(longest) for each in lists if turn < len(each)]
