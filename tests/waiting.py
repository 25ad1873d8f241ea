"""Waiting for what happens in another thread or process: long enough for a machine that has much else to do."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

#: A fault is found by what does not happen, so this is only paid by a test that fails.
PATIENCE_S = 60.0


def wait_until(holds: Callable[[], object], *, within_s: float = PATIENCE_S, every_s: float = 0.01) -> float:
    """Seconds until `holds()`. Raises TimeoutError."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > within_s:
            raise TimeoutError(f"it did not happen within {within_s} s")
        time.sleep(every_s)
    return time.monotonic() - began


async def until(holds: Callable[[], object], *, within_s: float = PATIENCE_S, every_s: float = 0.01) -> None:
    """Like `wait_until`, for what happens in this event loop or beside it. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(every_s)


async def until_beside(holds: Callable[[], object], *, within_s: float = PATIENCE_S) -> None:
    """Like `until`, for a question that blocks: it is asked in a thread. Raises TimeoutError."""
    await asyncio.to_thread(wait_until, holds, within_s=within_s)


def quickest(attempt: Callable[[], float], *, under_s: float, attempts: int = 5) -> float:
    """Seconds that the best of several attempts took, the first under `under_s` being good enough.

    For what is promised within a time: what the code needs shows in the best, what the machine had else to do in the
    others. Where that is more than it can do at once, an attempt counts for the part of the processor that it had.
    """
    best = float("inf")
    for _ in range(attempts):
        best = min(best, attempt() / crowding())
        if best < under_s:
            break
    return best


def crowding() -> float:
    """How many processes want each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))
