"""Which of many waiting items have run out of time."""

import heapq
import math
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)

TICK_S = 0.01


class DeadlineWheel(Generic[Item]):
    """Items by the tick in which their time runs out; one is reported up to TICK_S (10 ms) late and never early.

    Adding costs O(log n) of the ticks in use, taking out O(1). A heap of items with tombstones would do the same on
    average, but has to be rebuilt now and then, and rebuilding 100,000 entries holds every decision for 15 ms. What is
    left behind here is one number for each tick up to the farthest deadline, however many items pass.
    """

    def __init__(self) -> None:
        self._slots: dict[int, dict[Item, None]] = {}
        self._ticks: list[int] = []

    def add(self, item: Item, at: float) -> None:
        """An infinite `at` is no deadline, and costs nothing."""
        if at == math.inf:
            return
        tick = math.ceil(at / TICK_S)
        slot = self._slots.get(tick)
        if slot is None:
            slot = self._slots[tick] = {}
            heapq.heappush(self._ticks, tick)
        slot[item] = None

    def discard(self, item: Item, at: float) -> None:
        """`at` is the time it was added with."""
        if at == math.inf:
            return
        slot = self._slots.get(math.ceil(at / TICK_S))
        if slot is None:
            return
        slot.pop(item, None)
        if not slot:
            # An emptied dict keeps its table.
            slot.clear()

    def pop_due(self, now: float) -> list[Item]:
        due: list[Item] = []
        while self._ticks and self._ticks[0] * TICK_S <= now:
            due.extend(self._slots.pop(heapq.heappop(self._ticks)))
        return due

    def next_at(self) -> float | None:
        """When `pop_due` has something to report; None when nothing is waiting."""
        while self._ticks and not self._slots[self._ticks[0]]:
            del self._slots[heapq.heappop(self._ticks)]
        return self._ticks[0] * TICK_S if self._ticks else None
