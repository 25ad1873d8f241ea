"""One event loop a worker process, in a thread of its own, on which all streams run.

The tasks' threads wait for it; so sixteen of them share one pool of connections to the model and one to Redis.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


#: The first tasks of a worker come together, and `functools.cache` alone would let each of them start a loop. A stream
#: on one that uses a connection of the other is never woken.
_starting = threading.Lock()


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop, started on first use: a worker that forks must not start it before."""
    with _starting:
        return _started()


@functools.cache
def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="streams", daemon=True).start()
    return loop


def submit(work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
    """Start `work` on the background loop. Never cancel the future: it would forget what the work had gathered."""
    return asyncio.run_coroutine_threadsafe(work, background_loop())
