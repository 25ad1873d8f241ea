"""What waits for a batch: first come, first served within a tier; the better tier first; nobody starved for ever."""

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from inference_backend.tiers import TIERS, Tier

Item = TypeVar("Item", bound=Hashable)

#: Served first, first.
BY_PRECEDENCE: tuple[Tier, ...] = tuple(reversed(TIERS))
LARGEST_RESERVED_SHARE = 0.25


class Entry(Generic[Item]):
    """One item between its submission and its end. `expires_at` is the last moment at which a call is of use to it."""

    __slots__ = ("arrived_at", "attempts", "batch_id", "expires_at", "is_cancelled", "item", "tier")

    def __init__(self, item: Item, tier: Tier, arrived_at: float, expires_at: float = math.inf) -> None:
        self.item = item
        self.tier = tier
        self.arrived_at = arrived_at
        self.expires_at = expires_at
        self.attempts = 0
        self.batch_id: int | None = None
        self.is_cancelled = False


class TierQueue(Generic[Item]):
    """Linked lists, one a tier, so that an item is taken out of the middle in O(1) and leaves nothing behind.

    What was in a call that failed is served before all others: it has waited longest, and is one batch a failure. Of
    the rest of each batch, `reserved` places are kept for each tier below the first while it has something waiting. A
    fraction of a place is saved up: with batches of one and 0.25 reserved, each fourth goes to the bottom.
    """

    def __init__(self, *, max_size: int, reserved: float) -> None:
        self._lines: dict[Tier, OrderedDict[Item, Entry[Item]]] = {tier: OrderedDict() for tier in TIERS}
        self._again: OrderedDict[Item, Entry[Item]] = OrderedDict()
        self._internal, self._pro, self._free = (self._lines[tier] for tier in BY_PRECEDENCE)
        self._max_size = max_size
        self.reserved = min(reserved, max_size * LARGEST_RESERVED_SHARE)
        self._credit: dict[Tier, float] = dict.fromkeys(TIERS, 0.0)

    def __len__(self) -> int:
        return len(self._again) + len(self._internal) + len(self._pro) + len(self._free)

    @property
    def has_second_attempts(self) -> bool:
        return bool(self._again)

    def count(self, tier: Tier) -> int:
        return len(self._lines[tier]) + sum(entry.tier == tier for entry in self._again.values())

    def count_ahead(self, tier: Tier) -> int:
        """How many wait in this tier and in those served before it."""
        ahead = len(self._again) + len(self._internal)
        if tier != "internal":
            ahead += len(self._pro)
        if tier == "free":
            ahead += len(self._free)
        return ahead

    def oldest_arrival(self) -> float | None:
        heads = [next(iter(line.values())).arrived_at for line in (self._again, *self._lines.values()) if line]
        return min(heads, default=None)

    def append(self, entry: Entry[Item]) -> None:
        self._lines[entry.tier][entry.item] = entry

    def put_back(self, entries: Iterable[Entry[Item]]) -> None:
        """For their second attempt."""
        for entry in entries:
            self._again[entry.item] = entry

    def remove(self, entry: Entry[Item]) -> None:
        line = self._again if entry.attempts else self._lines[entry.tier]
        del line[entry.item]

    def take_batch(self, now: float) -> tuple[list[Entry[Item]], list[Entry[Item]]]:
        """(what goes into the next batch, what was met on the way and is past its time); both leave the queue."""
        batch: list[Entry[Item]] = []
        expired: list[Entry[Item]] = []
        self._take(self._again, self._max_size, now, batch, expired)
        held = {tier: self._hold(tier) for tier in ("free", "pro")}
        kept_back = held["free"] + held["pro"]
        for tier in BY_PRECEDENCE:
            kept_back -= held.get(tier, 0)
            self._take(self._lines[tier], self._max_size - kept_back - len(batch), now, batch, expired)
        if len(batch) < self._max_size:
            # Places kept for items that turned out to be past their time.
            for tier in BY_PRECEDENCE:
                self._take(self._lines[tier], self._max_size - len(batch), now, batch, expired)
        return batch, expired

    def _hold(self, tier: Tier) -> int:
        """Places of the next batch that the tiers above leave to this one."""
        waiting = len(self._lines[tier])
        if not waiting:
            self._credit[tier] = 0.0
            return 0
        credit = self._credit[tier] + self.reserved
        whole = int(credit)
        self._credit[tier] = credit - whole
        return min(whole, waiting)

    @staticmethod
    def _take(
        line: OrderedDict[Item, Entry[Item]],
        places: int,
        now: float,
        batch: list[Entry[Item]],
        expired: list[Entry[Item]],
    ) -> None:
        while places > 0 and line:
            _, entry = line.popitem(last=False)
            if entry.expires_at < now:
                expired.append(entry)
            else:
                batch.append(entry)
                places -= 1
