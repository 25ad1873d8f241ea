"""Other ways to fill fixed batch calls, to compare with: no tiers, no gate, no deadlines, no failures."""

import math
from collections import deque
from collections.abc import Callable, Mapping

from inference_backend.scheduling.batch_decisions import Batch, Decisions
from inference_backend.scheduling.delay_gate import Refusal
from inference_backend.simulation.fixed_call import Scheduler
from inference_backend.tiers import Tier


class Policy:
    """What they share: idle workers in the order in which they became idle, and numbered calls."""

    def __init__(self, *, max_size: int = 50) -> None:
        self.max_size = max_size
        self._idle: deque[str] = deque()
        self._calls: dict[int, Batch[int]] = {}
        self._next_id = 1

    def add_worker(self, worker: str, now: float) -> None:
        self._idle.append(worker)

    def remove_worker(self, worker: str, now: float) -> None:
        raise NotImplementedError("the rivals are compared without failures")

    def complete(self, batch_id: int, now: float) -> tuple[int, ...]:
        batch = self._calls.pop(batch_id)
        self._idle.append(batch.worker)
        return batch.items

    def fail(self, batch_id: int, now: float) -> tuple[int, ...]:
        raise NotImplementedError("the rivals are compared without failures")

    def next_wakeup(self, now: float) -> float | None:
        return None

    def _call(self, worker: str, items: tuple[int, ...]) -> Batch[int]:
        batch = Batch(self._next_id, worker, items, 1)
        self._calls[batch.id] = batch
        self._next_id += 1
        return batch


class IdleTakesAll(Policy):
    """One queue; whoever is idle takes what is there."""

    def __init__(self, *, max_size: int = 50) -> None:
        super().__init__(max_size=max_size)
        self._queue: deque[int] = deque()

    def submit(self, item: int, *, tier: Tier, now: float, deadline: float | None = None) -> Refusal | None:
        self._queue.append(item)
        return None

    def poll(self, now: float) -> Decisions[int]:
        sends = []
        while self._idle and self._queue:
            size = min(self.max_size, len(self._queue))
            sends.append(self._call(self._idle.popleft(), tuple(self._queue.popleft() for _ in range(size))))
        return Decisions(sends=sends)


class PerWorkerQueues(Policy):
    """A request goes, when it comes, to the worker with the least to do (waiting and under way), and stays there."""

    def __init__(self, *, max_size: int = 50) -> None:
        super().__init__(max_size=max_size)
        self._queues: dict[str, deque[int]] = {}

    def add_worker(self, worker: str, now: float) -> None:
        super().add_worker(worker, now)
        self._queues[worker] = deque()

    def submit(self, item: int, *, tier: Tier, now: float, deadline: float | None = None) -> Refusal | None:
        under_way = {batch.worker: len(batch.items) for batch in self._calls.values()}
        worker = min(self._queues, key=lambda name: len(self._queues[name]) + under_way.get(name, 0))
        self._queues[worker].append(item)
        return None

    def poll(self, now: float) -> Decisions[int]:
        sends = []
        for worker in [worker for worker in self._idle if self._queues[worker]]:
            self._idle.remove(worker)
            queue = self._queues[worker]
            size = min(self.max_size, len(queue))
            sends.append(self._call(worker, tuple(queue.popleft() for _ in range(size))))
        return Decisions(sends=sends)


class CloseThenQueue(Policy):
    """A batch is closed when it is full or its first item has waited `window_s`, and then waits for a worker."""

    def __init__(self, *, max_size: int = 50, window_s: float = 0.01) -> None:
        super().__init__(max_size=max_size)
        self._window_s = window_s
        self._open: list[int] = []
        self._close_at = math.inf
        self._closed: deque[tuple[int, ...]] = deque()

    def submit(self, item: int, *, tier: Tier, now: float, deadline: float | None = None) -> Refusal | None:
        if not self._open:
            self._close_at = now + self._window_s
        self._open.append(item)
        return None

    def poll(self, now: float) -> Decisions[int]:
        if self._open and (len(self._open) >= self.max_size or now >= self._close_at):
            self._closed.append(tuple(self._open))
            self._open, self._close_at = [], math.inf
        sends = []
        while self._idle and self._closed:
            sends.append(self._call(self._idle.popleft(), self._closed.popleft()))
        return Decisions(sends=sends)

    def next_wakeup(self, now: float) -> float | None:
        return None if self._close_at == math.inf else self._close_at


class IdlePlusInterval(IdleTakesAll):
    """One queue, evenly paced, except that nobody waits while a quarter of the workers (two at least) are idle."""

    def __init__(self, *, max_size: int = 50, call_s: float = 0.2) -> None:
        super().__init__(max_size=max_size)
        self._call_s = call_s
        self._workers = 0
        self._last_send = -math.inf

    def add_worker(self, worker: str, now: float) -> None:
        super().add_worker(worker, now)
        self._workers += 1

    def poll(self, now: float) -> Decisions[int]:
        sends = []
        while self._idle and self._queue and self._send_at(now) <= now:
            size = min(self.max_size, len(self._queue))
            sends.append(self._call(self._idle.popleft(), tuple(self._queue.popleft() for _ in range(size))))
            self._last_send = now
        return Decisions(sends=sends)

    def next_wakeup(self, now: float) -> float | None:
        return max(now, self._send_at(now)) if self._idle and self._queue else None

    def _send_at(self, now: float) -> float:
        if len(self._queue) >= self.max_size or len(self._idle) >= max(2, self._workers / 4):
            return now
        return self._last_send + self._call_s / self._workers


RIVALS: Mapping[str, Callable[[], Scheduler]] = {
    "idle takes all": IdleTakesAll,
    "a queue for each GPU": PerWorkerQueues,
    "close after 10 ms, then queue": CloseThenQueue,
    "paced, a quarter idle sends at once": IdlePlusInterval,
}
