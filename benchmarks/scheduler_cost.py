"""What a scheduler's decisions cost in process, with up to 100,000 requests waiting.

    python -m benchmarks.scheduler_cost           a minute; exits non-zero above the limit

One row for each length of the queue: microseconds of processor time a request for everything that happens to it
(submission past the delay gate, polls, its part of sending and of completing the call), the 99th percentile of one
submission with its poll, the median and the slowest decision that sends a batch of 50, and one cancellation in the
middle of the queue. The limit is on the first, of which the best of several rounds counts. All of it is processor time,
which a busy machine changes little; the slowest may have met the garbage collector.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.token_load import TokenLoad
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import Band, DelayGate
from inference_backend.tiers import TIERS

RESULTS = Path(__file__).resolve().parent / "results" / "scheduler_cost.json"
LIMIT_US = 25.0
LENGTHS = (0, 100, 1_000, 10_000, 100_000)
WORKERS, CALL_S, MAX_SIZE = 10, 0.2, 50
CAPACITY = WORKERS * MAX_SIZE / CALL_S
REQUESTS, ROUNDS = 20_000, 3
DEADLINE_S = 120.0
#: So wide that nobody is refused: the queue is to stay as long as it is.
WIDE = {tier: Band(low_s=1e6, high_s=2e6) for tier in TIERS}


class BatchCallLoad:
    """10 workers and a queue of the given length, with as many arrivals of three tiers as the workers can serve.

    Without a queue they come at four fifths of that, as they do where the pool is large enough.
    """

    def __init__(self, waiting: int) -> None:
        self.scheduler: BatchScheduler[int] = BatchScheduler(gate=DelayGate(WIDE))
        self.now = 1000.0
        self._interval_s = 1 / (CAPACITY if waiting else 0.8 * CAPACITY)
        self._next = 0
        for worker in range(WORKERS):
            self.scheduler.add_worker(f"gpu-{worker}", self.now)
        for _ in range(waiting):
            self.submit()
        self._calls: list[tuple[float, int]] = []

    def submit(self) -> int:
        item = self._next
        self._next += 1
        self.scheduler.submit(
            item, tier=TIERS[item % 3], now=self.now, deadline=self.now + DEADLINE_S + (item % 7919) / 100
        )
        return item

    def step(self) -> tuple[float, float]:
        """One request arrives and is looked at; (seconds of that, and again where it sent a batch)."""
        self.now += self._interval_s
        while self._calls and self._calls[0][0] <= self.now:
            self.scheduler.complete(self._calls.pop(0)[1], self.now)
        began = time.thread_time()
        self.submit()
        decisions = self.scheduler.poll(self.now)
        self.scheduler.next_wakeup(self.now)
        took = time.thread_time() - began
        self._calls += [(self.now + CALL_S, batch.id) for batch in decisions.sends]
        return took, took if decisions.sends else 0.0

    def cancel_in_the_middle(self) -> float:
        """Seconds to take one out of the queue; it is put back at the end, so that the length stays."""
        item = self._next - max(1, sum(self.scheduler.snapshot().queued.values()) // 2)
        began = time.thread_time()
        self.scheduler.cancel(item, self.now)
        took = time.thread_time() - began
        self.submit()
        return took


def measure_batch_call(waiting: int) -> dict[str, float]:
    load = BatchCallLoad(waiting)
    best = min(_processor_s(load.step, REQUESTS) for _ in range(ROUNDS))
    steps = [load.step() for _ in range(REQUESTS)]
    cancels = sorted(load.cancel_in_the_middle() for _ in range(200))
    arrivals = sorted(took for took, _ in steps)
    sends = sorted(took for _, took in steps if took)
    return {
        "waiting": waiting,
        "waiting_at_the_end": sum(load.scheduler.snapshot().queued.values()),
        "us_per_request": round(best / REQUESTS * 1e6, 2),
        "p99_submit_and_poll_us": round(arrivals[int(0.99 * len(arrivals))] * 1e6, 1),
        "median_send_us": round(sends[len(sends) // 2] * 1e6, 1),
        "slowest_send_us": round(sends[-1] * 1e6, 1),
        "median_cancel_us": round(cancels[len(cancels) // 2] * 1e6, 1),
    }


def measure_tokens(waiting: int) -> dict[str, float]:
    load = TokenLoad(waiting)
    load.prepare((ROUNDS + 1) * REQUESTS)
    # As the service sets it; by default each 700 new objects are looked at, and at times all that wait.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    best = min(_processor_s(load.step, REQUESTS) for _ in range(ROUNDS))
    arrivals = sorted(load.timed_step() for _ in range(REQUESTS))
    cancels = sorted(load.cancel_in_the_middle() for _ in range(200))
    return {
        "waiting": waiting,
        "waiting_at_the_end": sum(load.scheduler.snapshot().waiting.values()),
        "us_per_request": round(best / REQUESTS * 1e6, 2),
        "p99_submit_and_poll_us": round(arrivals[int(0.99 * len(arrivals))] * 1e6, 1),
        "slowest_submit_and_poll_us": round(arrivals[-1] * 1e6, 1),
        "median_cancel_us": round(cancels[len(cancels) // 2] * 1e6, 1),
    }


def _processor_s(step: Callable[[], object], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        step()
    return time.process_time() - began


#: Another scheduler is measured by adding what measures it: a function from the length of the queue to a row.
MEASURES: dict[str, Callable[[int], dict[str, float]]] = {
    "batch call": measure_batch_call,
    "tokens": measure_tokens,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    report: dict[str, Any] = {
        "command": "python -m benchmarks.scheduler_cost",
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "load_average": round(os.getloadavg()[0], 1),
        "limit_us_per_request": LIMIT_US,
        "schedulers": {name: [measure(length) for length in LENGTHS] for name, measure in MEASURES.items()},
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))
    slowest = max(row["us_per_request"] for rows in report["schedulers"].values() for row in rows)
    print(f"slowest {slowest} us a request; the limit is {LIMIT_US}")
    return int(slowest > LIMIT_US)


if __name__ == "__main__":
    sys.exit(main())
