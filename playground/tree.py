"""The version tree as a drawing: which lane each version is in, which lines cross a window of it. Pure.

Lanes are columns, lane 0 the leftmost. A version continues its parent's lane if it is the first of the children to
claim it, otherwise it opens the first free lane; a lane is free again above its last version. Newest rows come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

#: Lines that only pass through a window are told apart up to this lane: no drawing is wide enough for more.
MOST_PASSING_LANES = 32


class Node(NamedTuple):
    """A version by its number. `parents`: numbers, the first is the line it continues, a second one was merged in.

    A tuple, because a tree is ten thousand of them, made for each page.
    """

    number: int
    parents: tuple[int, ...] = ()


class Line(NamedTuple):
    """From a child to one of its parents, by row and lane. `merges`: the parent is not the line the child continues."""

    from_row: int
    to_row: int
    from_lane: int
    to_lane: int
    merges: bool


def lanes(nodes: Sequence[Node], *, first: Sequence[int] = ()) -> dict[int, int]:
    """The lane of each version. `nodes` newest first; `first` are the heads whose line should be lane 0, in order.

    Each parent's number is smaller than its child's. O((n + edges) log lanes).
    """
    lane_of: dict[int, int] = {}
    waiting: dict[int, list[int]] = {}  # by number, for versions that come later: the lanes that lead to them
    free: list[int] = []
    new_lanes = count()
    known = {number for number, _ in nodes}
    for head in [head for head in first if head in known][:1]:
        waiting[head] = [next(new_lanes)]
    for number, parents in nodes:
        mine = waiting.pop(number, None)
        lane = min(mine) if mine else heappop(free) if free else next(new_lanes)
        lane_of[number] = lane
        for other in mine or ():
            if other != lane:
                heappush(free, other)
        if not parents:
            heappush(free, lane)
            continue
        waiting.setdefault(parents[0], []).append(lane)
        for merged in parents[1:]:
            if merged not in waiting:
                waiting[merged] = [heappop(free) if free else next(new_lanes)]
    return lane_of


def lines_across(nodes: Sequence[Node], lane_of: Mapping[int, int], *, first: int, last: int) -> list[Line]:
    """The lines that can be seen in rows [first, last): each once, ending two rows outside where it goes further.

    What is cut off is straight there, in one lane, so that any number of lines through a window is few.
    """
    row_of = {node.number: row for row, node in enumerate(nodes)}
    return list(dict.fromkeys(_clipped(line, first, last) for line in _lines(nodes, lane_of, row_of, first, last)))


def _lines(
    nodes: Sequence[Node], lane_of: Mapping[int, int], row_of: Mapping[int, int], first: int, last: int
) -> Iterator[Line]:
    for row, (number, parents) in enumerate(nodes[:last]):
        for order, parent in enumerate(parents):
            to_row = row_of.get(parent, -1)
            if to_row < first:
                continue
            line = Line(row, to_row, lane_of[number], lane_of[parent], order > 0)
            passes = row < first and to_row >= last
            if not passes or (line.to_lane if line.merges else line.from_lane) < MOST_PASSING_LANES:
                yield line


def _clipped(line: Line, first: int, last: int) -> Line:
    """A branch bends beside its parent, a merge beside its child; everywhere else a line is straight."""
    above, below = first - 2, last + 1
    from_row, to_row, from_lane, to_lane, merges = line
    if from_row < above:
        from_row, from_lane = above, to_lane if merges else from_lane
    if to_row > below:
        to_row, to_lane = below, to_lane if merges else from_lane
    return Line(from_row, to_row, from_lane, to_lane, merges)


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
