"""A TokenScheduler driven by the event loop: what waits is a future, a place on a replica is a lease."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from inference_backend.errors import DeadlineExceededError, EngineUnavailableError
from inference_backend.pools.refusals import refusal_error
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.scheduling.token import Snapshot, TokenPolicy, TokenScheduler, token_gate
from inference_backend.scheduling.work import Work
from inference_backend.tiers import Tier

# Timers of uvloop count whole milliseconds; a shorter one would fire before its time and be set again.
SHORTEST_TIMER_S = 0.001
# Requests that come together, and places that fall free together, are handed out together: once the loop has turned so
# often without another one, or after GATHER_S. An engine reads the prompts of one batch at once. Given one alone it
# begins with that, and the others wait until it is read (measured: 70 ms on two cores).
QUIET_TURNS = 4
GATHER_S = 0.003


class PoolObserver(Protocol):
    def started(self, tier: Tier, queue_s: float) -> None: ...

    def shed(self, tier: Tier, reason: str) -> None: ...


class Lease:
    """A place on one replica. `lost` is set when the replica goes while the lease is held."""

    def __init__(self, pool: "TokenPool", work: Work, replica: str) -> None:
        self.work = work
        self.replica = replica
        self.lost = asyncio.Event()
        self._pool = pool
        self._has_begun = False

    def first_token(self) -> None:
        """The prompt is read: the replica may be given the next one. Further calls change nothing."""
        if not self._has_begun:
            self._has_begun = True
            self._pool.note_first_token(self.work.id)

    def finished(self, output_tokens: int) -> None:
        """The engine is done, so its place is free, also while a slow caller still reads. Measures its speed."""
        self._pool.note_finish(self.work.id, output_tokens)


class TokenPool:
    """One for each model. Deadlines of its work are times of time.monotonic()."""

    def __init__(
        self,
        model: str,
        *,
        gate: DelayGate | None = None,
        policy: TokenPolicy | None = None,
        observer: PoolObserver | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._gate = gate if gate is not None else token_gate()
        self._scheduler = TokenScheduler(gate=self._gate, policy=policy)
        self._observer = observer
        self._clock = clock
        self._waiting: dict[str, asyncio.Future[Lease | None]] = {}
        self._leases: dict[str, Lease] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")
        self._starting_until: float | None = None
        self._quiet_turns: int | None = None
        self._gather_until = 0.0

    @asynccontextmanager
    async def lease(self, work: Work) -> AsyncIterator[Lease]:
        """A place for as long as the body runs, or until `finished`.

        Raises OverloadedError when the tier is shed, DeadlineExceededError when the deadline passes in the queue,
        EngineUnavailableError or CapacityStartingError when no replica takes work. However it ends, cancelled
        included, at whatever moment, nothing of it stays behind.
        """
        waiter = self._enter(work)
        try:
            lease = await waiter
            if lease is None:
                raise DeadlineExceededError(
                    f"{self._model} did not get to this request in the time that it may wait; try again shortly."
                )
            yield lease
        finally:
            self._leave(work.id)

    def replica_ready(self, name: str, *, slots: int, kv_tokens: int | None = None) -> None:
        """It takes work from now; a known one, draining or not, with these limits."""
        self._scheduler.add_replica(name, slots=slots, kv_tokens=kv_tokens, now=self._clock())
        self._pump()

    def replica_draining(self, name: str) -> None:
        """No new work; leases on it end in their own time."""
        self._scheduler.drain_replica(name, self._clock())
        self._pump()

    def replica_gone(self, name: str) -> None:
        """Its places are gone with it. The holders learn of it through `Lease.lost`."""
        for work in self._scheduler.remove_replica(name, self._clock()):
            if (lease := self._leases.get(work.id)) is not None:
                lease.lost.set()
        self._pump()

    def turn_away(self) -> None:
        """Whoever waits gets EngineUnavailableError: no replica will take work any more."""
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_exception(EngineUnavailableError(f"No engine of {self._model} is ready; try again shortly."))

    @property
    def held(self) -> int:
        """Requests that are in here in any form, waiting or with a lease."""
        return len(self._waiting) + len(self._leases)

    def running_on(self, name: str) -> int:
        """Leases held on it: a draining replica without any may be stopped."""
        return self._scheduler.running_on(name)

    def starting(self, eta_s: float | None) -> None:
        """More capacity is expected in so many seconds; None: none is on its way. Refusals say so."""
        self._starting_until = None if eta_s is None else self._clock() + eta_s
        self._gate.capacity_starting(self._starting_until)

    def capacity_starting(self) -> float | None:
        """Seconds until the capacity that is starting is expected, at least 0."""
        return None if self._starting_until is None else max(0.0, self._starting_until - self._clock())

    def expected_wait(self, tier: Tier) -> float:
        """Seconds in the queue for a new request of this tier; infinite where nothing takes work."""
        return self._scheduler.expected_wait(tier, self._clock())

    @property
    def decode_s_per_token(self) -> float:
        """Seconds that a replica takes for the next token of one answer, as measured."""
        return self._scheduler.rates.decode.s_per_token

    def admitted_fraction(self, tier: Tier) -> float:
        """Share of the tier that the delay gate lets in, 0 to 1: by this much limits of keys may be tightened."""
        return self._gate.fraction(tier)

    def snapshot(self) -> Snapshot:
        return self._scheduler.snapshot()

    def note_first_token(self, work_id: str) -> None:
        self._scheduler.first_token(work_id, self._clock())
        self._pump_soon()

    def note_finish(self, work_id: str, output_tokens: int) -> None:
        self._scheduler.finish(work_id, output_tokens, self._clock())
        self._pump_soon()

    def _enter(self, work: Work) -> "asyncio.Future[Lease | None]":
        refusal = self._scheduler.submit(work, self._clock())
        if refusal is not None:
            self._note_shed(work.tier, refusal.code)
            raise refusal_error(refusal, model=self._model)
        waiter: asyncio.Future[Lease | None] = asyncio.get_running_loop().create_future()
        self._waiting[work.id] = waiter
        self._pump_soon()
        return waiter

    def _leave(self, work_id: str) -> None:
        self._waiting.pop(work_id, None)
        self._leases.pop(work_id, None)
        if self._scheduler.cancel(work_id, self._clock()):
            self._pump_soon()

    def _pump_soon(self) -> None:
        if self._quiet_turns is None:
            self._gather_until = self._clock() + GATHER_S
            asyncio.get_running_loop().call_soon(self._turn)
        self._quiet_turns = 0

    def _turn(self) -> None:
        if self._quiet_turns is None:
            return
        self._quiet_turns += 1
        if self._quiet_turns > QUIET_TURNS or self._clock() >= self._gather_until:
            self._quiet_turns = None
            self._pump()
        else:
            asyncio.get_running_loop().call_soon(self._turn)

    def _pump(self) -> None:
        now = self._clock()
        decisions = self._scheduler.poll(now)
        for work, replica in decisions.starts:
            # A waiter that was cancelled and has not run since is on its way to _leave, which gives the place back.
            lease = Lease(self, work, replica)
            self._leases[work.id] = lease
            if self._observer:
                self._observer.started(work.tier, now - work.arrived_at)
            self._wake(work.id, lease)
        for work in decisions.expired:
            self._note_shed(work.tier, "deadline")
            self._wake(work.id, None)
        self._set_timer(now)

    def _wake(self, work_id: str, lease: Lease | None) -> None:
        waiter = self._waiting.pop(work_id, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(lease)

    def _note_shed(self, tier: Tier, reason: str) -> None:
        if self._observer:
            self._observer.shed(tier, reason)

    def _set_timer(self, now: float) -> None:
        wakeup = self._scheduler.next_wakeup()
        if wakeup is None:
            self._cancel_timer()
        elif self._timer is None or wakeup < self._timer_at:
            self._cancel_timer()
            delay_s = max(SHORTEST_TIMER_S, wakeup - now)
            self._timer_at = now + delay_s
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        self._pump()
