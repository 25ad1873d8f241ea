"""Whether somebody asked to stop a run, found out for all runs of this process together."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator

from inference_client import events


class StopFlags:
    """One question to Redis each `every_s`, however many runs there are: one each for 32 runs is a tenth of their cost.

    Safe to use from the threads of all runs.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._lock = threading.Lock()
        self._watched: Counter[uuid.UUID] = Counter()
        self._flagged: frozenset[uuid.UUID] = frozenset()
        self._asked_at = 0.0

    @contextlib.contextmanager
    def watched(self, run_id: uuid.UUID) -> Iterator[None]:
        """Within the block `asked(run_id)` may be called."""
        with self._lock:
            self._watched[run_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._watched[run_id] -= 1
                self._watched += Counter()

    def asked(self, run_id: uuid.UUID) -> bool:
        """Whether the run was to be stopped, `every_s` ago at most. Raises RedisError."""
        with self._lock:
            now = time.monotonic()
            if now - self._asked_at >= self._every_s:
                # Before the question: while Redis hangs, one thread waits for it and not each of them in turn.
                self._asked_at = now
                self._flagged = events.cancels_flagged(list(self._watched))
            return run_id in self._flagged
