"""How far apart the batches of a pool are sent."""

import math

# In intervals: how close full batches may follow each other when few workers are idle.
CLOSEST = 0.9
# In calls (call_s). How far sends may run ahead of the pace while there is little to do: each of them is missing later,
# when traffic rises all at once.
LARGEST_LEAD = 0.3
LONGEST_HOLE = 0.5
# Of the workers: up to how many items, waiting and in calls, are sent one by one. While single calls at the present
# rate would leave a quarter of the workers idle, a crowd is let through; else they would take all, and whoever comes
# later would wait until one is back.
QUIET_LOAD = 0.75
SINGLES_WHEN_QUIET = 1.2
SINGLES_WHEN_BUSY = 0.8


class Pace:
    """`healthy` workers can begin `healthy / call_s` calls a second; evenly spaced, nobody waits longer than that."""

    __slots__ = ("_call_s", "_last_send", "_paced_until")

    def __init__(self, call_s: float) -> None:
        self._call_s = call_s
        self._last_send = -math.inf
        # Where the last send would be, had all been spaced evenly.
        self._paced_until = -math.inf

    def note_send(self, now: float, *, healthy: int) -> None:
        self._last_send = now
        self._paced_until = max(now, self._paced_until) + self._call_s / healthy

    def full_batch_at(self, now: float, *, idle: int, healthy: int) -> float:
        """Workers that become free together would stay together; held apart once, they come back apart."""
        is_scarce = idle <= healthy / 4
        return self._last_send + CLOSEST * self._call_s / healthy if is_scarce else now

    def batch_at(self, now: float, *, items: int, rate: float, idle: int, healthy: int, next_free: float) -> float:
        """When what waits is worth a call. `items` waiting and in calls; `rate`: how many come a second at present;
        `next_free`: when a busy worker will be."""
        interval_s = self._call_s / healthy
        is_quiet = rate * self._call_s < QUIET_LOAD * healthy
        singles = (SINGLES_WHEN_QUIET if is_quiet else SINGLES_WHEN_BUSY) * healthy
        # With few items batching gains nothing, unless a hole follows in which no worker is idle.
        if items <= singles and (idle > 1 or next_free - now <= max(interval_s, LONGEST_HOLE * self._call_s)):
            return min(self._last_send + interval_s, self._paced_until - LARGEST_LEAD * self._call_s)
        if next_free > now:
            interval_s = max(interval_s, (next_free - self._last_send) / (idle + 1))
        return self._last_send + interval_s
