"""The version tree as a drawing: which lane each version is in. Pure.

Lanes are columns, lane 0 the leftmost. A version continues its parent's lane if it is the first of the children to
claim it, otherwise it opens the first free lane; a lane is free again above its last version. Newest rows come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Node:
    """A version by its number. `parents`: numbers, the first is the line it continues, a second one was merged in."""

    number: int
    parents: tuple[int, ...] = ()


def lanes(nodes: Sequence[Node], *, first: Sequence[int] = ()) -> dict[int, int]:
    """The lane of each version. `nodes` newest first; `first` are the heads whose line should be lane 0, in order.

    Each parent's number is smaller than its child's. O(n + edges) times the number of open lanes.
    """
    lane_of: dict[int, int] = {}
    waiting: list[int | None] = [*_main_line(nodes, first)]  # per lane: the version expected next, None when free
    for node in nodes:
        mine = [lane for lane, expected in enumerate(waiting) if expected == node.number]
        lane = mine[0] if mine else _free(waiting)
        for other in mine[1:]:
            waiting[other] = None
        lane_of[node.number] = lane
        waiting[lane] = node.parents[0] if node.parents else None
        for merged in node.parents[1:]:
            if merged not in waiting:
                waiting[_free(waiting)] = merged
    return lane_of


def _main_line(nodes: Sequence[Node], first: Sequence[int]) -> list[int]:
    known = {node.number for node in nodes}
    return [head for head in first if head in known][:1]


def _free(waiting: list[int | None]) -> int:
    for lane, expected in enumerate(waiting):
        if expected is None:
            return lane
    waiting.append(None)
    return len(waiting) - 1


def nearest_common_ancestor(parents: Mapping[int, tuple[int, ...]], a: int, b: int) -> int | None:
    """The highest-numbered version that both descend from (or are); None if their trees are apart.

    Numbers grow from parent to child, so the largest common one has no common descendant among the others.
    """
    return max(_ancestors(parents, a) & _ancestors(parents, b), default=None)


def _ancestors(parents: Mapping[int, tuple[int, ...]], start: int) -> set[int]:
    seen, open_ = {start}, [start]
    while open_:
        for parent in parents.get(open_.pop(), ()):
            if parent not in seen:
                seen.add(parent)
                open_.append(parent)
    return seen
