"""Which parts of a failed batch to try next, so that an input which breaks every call it is in ends up alone.

Group testing by halving: with k such inputs among n, at most 2 k (log2 n + 1) calls, each half of the one before it.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Bisection(Generic[Item]):
    """Takes a batch that failed as a whole; ask `next_part`, make the call, report `passed` or `failed`, until None.

    Nobody is blamed unheard: an input is given up only after a call of its own failed, so a call that failed by
    accident costs calls and no answers.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self._parts: list[Sequence[Item]] = []
        self._current: Sequence[Item] | None = None
        self.calls = 0
        self._split(items)

    def next_part(self) -> Sequence[Item] | None:
        """The inputs of the next call, or None when everything is decided. Raises RuntimeError before a report."""
        if self._current is not None:
            raise RuntimeError("the last part was not reported on")
        if not self._parts:
            return None
        self._current = self._parts.pop()
        self.calls += 1
        return self._current

    def passed(self) -> None:
        self._take()

    def failed(self) -> Item | None:
        """The input that is to blame, when the part held only that one."""
        part = self._take()
        if len(part) == 1:
            return part[0]
        self._split(part)
        return None

    def _take(self) -> Sequence[Item]:
        part, self._current = self._current, None
        if part is None:
            raise RuntimeError("no part is being tried")
        return part

    def _split(self, part: Sequence[Item]) -> None:
        """Halves in reverse: the next one tried is the one that waited longer. One alone gets its own call."""
        middle = (len(part) + 1) // 2
        self._parts += [half for half in (part[middle:], part[:middle]) if half]
