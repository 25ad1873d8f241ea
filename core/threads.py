"""What a process of many threads sets once, when all that it needs is imported."""

from __future__ import annotations

import gc
import sys

#: How long a thread may go on while others want to. With Python's own 5 ms, sixteen busy threads wake each other all
#: the time: of 32 calls at once that was 8 of 30 ms of processor time each.
SWITCH_S = 0.025


def settle() -> None:
    """Fewer changes of threads, and a collector that spares what was imported.

    Going through that held every request for 100 ms now and then.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
