"""The workers of a pool of batch calls: which of them are idle, which are at work, and which have to rest."""

FAILURES_TO_QUARANTINE = 3


class Worker:
    __slots__ = ("batch_id", "failures", "is_draining")

    def __init__(self) -> None:
        self.batch_id: int | None = None
        self.failures = 0
        self.is_draining = False


class WorkerSet:
    """`healthy` counts those that take calls, busy ones included. Each method is O(1), `wake` linear in the resting."""

    def __init__(self) -> None:
        self.healthy = 0
        self._workers: dict[str, Worker] = {}
        self._idle: dict[str, None] = {}
        # A worker that failed early rests until its call would have ended; else it would attract every batch.
        self._resting: dict[str, float] = {}

    @property
    def idle(self) -> int:
        return len(self._idle)

    def add(self, name: str) -> None:
        """Raises ValueError if it is there already."""
        if name in self._workers:
            raise ValueError(f"worker {name} is there already")
        self._workers[name] = Worker()
        self._idle[name] = None
        self.healthy += 1

    def drain(self, name: str) -> None:
        """It ends the call it has and gets no other; then it is gone. An unknown worker is ignored."""
        worker = self._workers.get(name)
        if worker is None or worker.is_draining:
            return
        worker.is_draining = True
        self.healthy -= 1
        if worker.batch_id is None:
            self._forget(name)

    def remove(self, name: str) -> int | None:
        """Returns the batch that it was sent. An unknown worker is ignored."""
        worker = self._workers.get(name)
        if worker is None:
            return None
        if not worker.is_draining:
            self.healthy -= 1
        self._forget(name)
        return worker.batch_id

    def take(self, batch_id: int) -> str:
        """The worker that has been idle for longest, for this batch. There must be one."""
        name = next(iter(self._idle))
        del self._idle[name]
        self._workers[name].batch_id = batch_id
        return name

    def succeeded(self, name: str) -> None:
        worker = self._workers[name]
        worker.failures = 0
        self._release(name, worker)

    def failed(self, name: str, *, rest_until: float, now: float) -> bool:
        """False: once too often, and it is gone."""
        worker = self._workers[name]
        worker.failures += 1
        if worker.failures >= FAILURES_TO_QUARANTINE:
            self.remove(name)
            return False
        self._release(name, worker, rest_until=rest_until if rest_until > now else None)
        return True

    def next_rested_at(self) -> float | None:
        return min(self._resting.values(), default=None)

    def wake(self, now: float) -> None:
        """Those that have rested long enough."""
        for name in [name for name, until in self._resting.items() if until <= now]:
            del self._resting[name]
            self._idle[name] = None

    def _release(self, name: str, worker: Worker, *, rest_until: float | None = None) -> None:
        worker.batch_id = None
        if worker.is_draining:
            self._forget(name)
        elif rest_until is not None:
            self._resting[name] = rest_until
        else:
            self._idle[name] = None

    def _forget(self, name: str) -> None:
        del self._workers[name]
        self._idle.pop(name, None)
        self._resting.pop(name, None)
