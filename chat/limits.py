"""How much one person may do, as buckets that fill with time. The clock is passed in."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """A token bucket: `capacity` at once, `refill_per_s` in the long run."""

    capacity: float
    refill_per_s: float
    tokens: float
    at_s: float

    def take(self, now_s: float) -> float:
        """Take a token: 0.0 if there was one, else the seconds until there will be."""
        self.tokens = min(self.capacity, self.tokens + max(0.0, now_s - self.at_s) * self.refill_per_s)
        self.at_s = now_s
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) / self.refill_per_s


class Buckets:
    """One bucket a key, in this process; safe between threads.

    At most `most` keys are remembered, the least recently used is forgotten first: a bucket that nobody used for as
    long is full again anyway, or the server has more callers than it can serve.
    """

    def __init__(self, *, capacity: float, refill_per_s: float, clock: Callable[[], float], most: int = 50_000) -> None:
        self._capacity = capacity
        self._refill_per_s = refill_per_s
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[Hashable, Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> float:
        """0.0 if `key` may go on, else the seconds to wait."""
        now_s = self._clock()
        with self._lock:
            bucket = self._buckets.get(key)
            if bucket is None:
                bucket = Bucket(self._capacity, self._refill_per_s, self._capacity, now_s)
                self._buckets[key] = bucket
                if len(self._buckets) > self._most:
                    self._buckets.popitem(last=False)
            self._buckets.move_to_end(key)
            return bucket.take(now_s)

    def widen(self, *, capacity: float) -> None:
        """Another capacity from now on, for everybody."""
        with self._lock:
            self._capacity = capacity
            self._buckets.clear()

    def forget(self) -> None:
        """Every bucket is full again."""
        with self._lock:
            self._buckets.clear()
