"""GPUs that take a batch and answer after a fixed time, in front of them the pool's own scheduler."""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from inference_backend.scheduling.batch_decisions import Batch, Decisions
from inference_backend.scheduling.delay_gate import DelayGate, Refusal
from inference_backend.simulation.report import Figures, TierFigures
from inference_backend.tiers import TIERS, Tier

NOTICE_S = 0.05


class Scheduler(Protocol):
    """What the simulation needs of a policy; BatchScheduler has it, and so have the rivals in policies.py."""

    def add_worker(self, worker: str, now: float) -> None: ...
    def remove_worker(self, worker: str, now: float) -> object: ...
    def submit(self, item: int, *, tier: Tier, now: float, deadline: float | None = None) -> Refusal | None: ...
    def poll(self, now: float) -> Decisions[int]: ...
    def complete(self, batch_id: int, now: float) -> Iterable[int]: ...
    def fail(self, batch_id: int, now: float) -> Iterable[int]: ...
    def next_wakeup(self, now: float) -> float | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Befalls the first call that `worker` begins after `at_s`.

    kill: it is gone `into_call` (a share) of the call later, and the broken connection is noticed after `notice_s`.
    hang: it never answers. late: it answers after twice the time. fail: it answers at once with an error.
    """

    kind: Literal["kill", "hang", "late", "fail"]
    at_s: float
    worker: str = "gpu-0"
    into_call: float = 0.5
    notice_s: float = NOTICE_S


@dataclass(frozen=True, kw_only=True, slots=True)
class Join:
    """`count` more GPUs at `at_s`; the gate hears of them at `ordered_at_s`."""

    at_s: float
    count: int
    ordered_at_s: float = 0.0


@dataclass(slots=True)
class Requests:
    """By number: when each came, and from whom; by tier: how they ended."""

    arrived_at: list[float] = field(default_factory=list)
    tiers: list[Tier] = field(default_factory=list)
    latencies: dict[Tier, list[float]] = field(default_factory=lambda: {tier: [] for tier in TIERS})
    refused: dict[Tier, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    expired: dict[Tier, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))
    failed: dict[Tier, int] = field(default_factory=lambda: dict.fromkeys(TIERS, 0))

    def figures(self, tiers: Sequence[Tier], bound_s: float) -> TierFigures:
        return TierFigures.of(
            [latency for tier in tiers for latency in self.latencies[tier]],
            bound_s=bound_s,
            refused=sum(self.refused[tier] for tier in tiers),
            expired=sum(self.expired[tier] for tier in tiers),
            failed=sum(self.failed[tier] for tier in tiers),
        )


class FixedCallSimulation:
    """Runs until every request has met its end. Time is what the next event says; nothing sleeps."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        call_s: float = 0.2,
        gate: DelayGate | None = None,
        faults: Sequence[Fault] = (),
        one_line: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        """`one_line`: the scheduler is not told the tiers, so that all wait in one line."""
        self._scheduler = scheduler
        self._call_s = call_s
        self._gate = gate
        self._faults = list(faults)
        self._one_line = one_line
        self._deadline_s = deadline_s
        self._events: list[tuple[float, int, str, object]] = []
        self._next_event = 0
        self._workers = 0
        self._sends = self._sent = self._starting = 0
        self.requests = Requests()
        self.now = 0.0

    def join(self, count: int) -> None:
        for number in range(self._workers, self._workers + count):
            self._scheduler.add_worker(f"gpu-{number}", self.now)
        self._workers += count

    def plan(self, join: Join) -> None:
        if self._gate is not None:
            self._schedule(join.ordered_at_s, "order", float(join.at_s))
        self._schedule(join.at_s, "join", join.count)

    def _schedule(self, at: float, kind: str, payload: object) -> None:
        self._next_event += 1
        heapq.heappush(self._events, (at, self._next_event, kind, payload))

    def run(self, arrivals: Iterable[tuple[float, Tier]]) -> None:
        coming = iter(arrivals)
        arrival = next(coming, None)
        at_wakeup = math.inf
        while True:
            at_event = self._events[0][0] if self._events else math.inf
            at_arrival = arrival[0] if arrival else math.inf
            next_at = min(at_wakeup, at_event, at_arrival)
            if next_at == math.inf:
                return
            self.now = next_at
            if at_event == self.now:
                self._happen()
            elif arrival and at_arrival == self.now:
                is_queued = self._arrive(arrival[1])
                arrival = next(coming, None)
                if not is_queued and at_wakeup > self.now:
                    continue
            self._obey(self._scheduler.poll(self.now))
            wakeup = self._scheduler.next_wakeup(self.now)
            at_wakeup = math.inf if wakeup is None else wakeup

    def _arrive(self, tier: Tier) -> bool:
        requests = self.requests
        item = len(requests.tiers)
        requests.arrived_at.append(self.now)
        requests.tiers.append(tier)
        deadline = None if self._deadline_s is None else self.now + self._deadline_s
        told = "free" if self._one_line else tier
        refusal = self._scheduler.submit(item, tier=told, now=self.now, deadline=deadline)
        if refusal is not None:
            requests.refused[tier] += 1
            self._starting += refusal.code == "capacity_starting"
        return refusal is None

    def _happen(self) -> None:
        _, _, kind, payload = heapq.heappop(self._events)
        match kind, payload:
            case "answer", int(batch_id):
                for item in self._scheduler.complete(batch_id, self.now):
                    self.requests.latencies[self.requests.tiers[item]].append(self.now - self.requests.arrived_at[item])
            case "error", int(batch_id):
                self._give_up(self._scheduler.fail(batch_id, self.now))
            case "gone", str(worker):
                self._scheduler.remove_worker(worker, self.now)
            case "join", int(count):
                self.join(count)
            case "order", float(ready_at) if self._gate is not None:
                self._gate.capacity_starting(ready_at)

    def _obey(self, decisions: Decisions[int]) -> None:
        for batch in decisions.sends:
            self._sends += 1
            self._sent += len(batch.items)
            self._begin(batch)
        for item in decisions.expired:
            self.requests.expired[self.requests.tiers[item]] += 1
        self._give_up(decisions.given_up)

    def _give_up(self, items: Iterable[int]) -> None:
        for item in items:
            self.requests.failed[self.requests.tiers[item]] += 1

    def _begin(self, batch: Batch[int]) -> None:
        fault = next((one for one in self._faults if one.worker == batch.worker and one.at_s <= self.now), None)
        if fault is None:
            self._schedule(self.now + self._call_s, "answer", batch.id)
            return
        self._faults.remove(fault)
        if fault.kind == "kill":
            self._schedule(self.now + fault.into_call * self._call_s + fault.notice_s, "gone", batch.worker)
        elif fault.kind == "late":
            self._schedule(self.now + 2 * self._call_s, "answer", batch.id)
        elif fault.kind == "fail":
            self._schedule(self.now, "error", batch.id)

    def figures(self, bound_s: float) -> Figures:
        return Figures(
            everybody=self.requests.figures(TIERS, bound_s),
            tiers={tier: self.requests.figures((tier,), bound_s) for tier in TIERS},
            others={
                "fill": self._sent / self._sends if self._sends else 0.0,
                "calls": float(self._sends),
                "answered_per_s": sum(map(len, self.requests.latencies.values())) / self.now if self.now else 0.0,
                "told_capacity_starting": float(self._starting),
            },
        )
