"""Drives a BatchScheduler: one input is submitted, its result awaited, and calls are made for many at a time."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from inference_backend.engines.time_limit import within
from inference_backend.errors import (
    BackendError,
    DeadlineExceededError,
    EngineProtocolError,
    EngineRefusedError,
    EngineUnavailableError,
    InputFailedError,
    OverloadedError,
)
from inference_backend.pools.batch_worker import BatchWorker
from inference_backend.pools.refusals import refusal_error
from inference_backend.pools.submission import Submission, Ticket
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.batch_decisions import Batch, Decisions, Snapshot
from inference_backend.scheduling.bisection import Bisection
from inference_backend.tiers import Tier

logger = logging.getLogger(__name__)

Input = TypeVar("Input")
Output = TypeVar("Output")
Answer: TypeAlias = tuple[Ticket[Input, Output], Output | Exception]

FIRST_PROBE_DELAY_S = 0.05
LONGEST_PROBE_DELAY_S = 5.0
# A worker that was down for a second is looked at each 150 ms: what started again at once is missed for little longer.
PROBE_DELAY_GROWTH = 1.1
# Of all workers of a pool together, where many are down.
MOST_PROBES_PER_S = 100
# More than a process needs to start and to load its model.
PROBE_S = 90.0
TURNS_TO_HEAR = 3
# Of the timers of the event loop.
TICK_S = 0.001
WOKEN_AT_ONCE = 8


class BatchPool(Generic[Input, Output]):
    """A call that fails is made once more, with the same inputs, by whichever worker is free.

    What failed twice is taken apart by the worker that saw it, before that one goes back into service, so that an
    input which breaks every call ends alone. A worker that was silent for too long, or that broke, gets nothing until
    a probe succeeds. A result arrives once, whatever a lost worker says later: its call is cancelled.
    """

    def __init__(
        self,
        scheduler: "BatchScheduler[Ticket[Input, Output]]",
        workers: Mapping[str, BatchWorker[Input, Output]],
        *,
        watchdog_s: float,
        name: str = "batch",
        max_waiting: int = 100_000,
        on_call: Callable[[int, float, str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`watchdog_s` is the scheduler's. `on_call` hears of each call: inputs, seconds, `ok` or what failed."""
        self.name = name
        self._scheduler = scheduler
        self._workers = dict(workers)
        self._watchdog_s = watchdog_s
        self._max_waiting = max_waiting
        self._on_call = on_call
        self._clock = clock
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._repairs: dict[str, asyncio.Task[None]] = {}
        # The worker whose call has just ended, and the batch that it got at once.
        self._going_on: str | None = None
        self._following: list[Batch[Ticket[Input, Output]]] = []
        self._suspects: deque[list[Ticket[Input, Output]]] = deque()
        self._isolating = 0
        self._open: set[Ticket[Input, Output]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._heard_until = -math.inf
        self._is_pump_due = False
        self._is_closed = False

    # For callers

    def enter(self, items: Sequence[Input], *, tier: Tier, deadline_s: float) -> "Submission[Input, Output]":
        """Queues all of them or none. In `deadline_s` seconds there is no use in an answer any more: a call that could
        not end by then is not begun. One that is being made ends by itself or by the watchdog.

        Raises OverloadedError, CapacityStartingError, EngineUnavailableError or DeadlineExceededError.
        """
        tickets: list[Ticket[Input, Output]] = []
        try:
            for item in items:
                self._queue(item, tier, deadline_s, tickets)
        except BackendError:
            self._leave(tickets)
            raise
        return Submission(tickets, self._leave)

    async def submit(self, item: Input, *, tier: Tier, deadline_s: float) -> Output:
        """The result for one input. Raises like `enter`, and EngineError where it failed."""
        return (await self.enter((item,), tier=tier, deadline_s=deadline_s).results())[0]

    def snapshot(self) -> Snapshot:
        return self._scheduler.snapshot()

    def expected_wait(self, tier: Tier) -> float:
        """Seconds in the queue; infinite while no worker is well."""
        return self._scheduler.expected_wait(tier)

    @property
    def is_idle(self) -> bool:
        return not self._open and not self._calls

    @property
    def is_ready(self) -> bool:
        return self._scheduler.healthy > 0

    # Life

    def start(self, *, verified: bool = False) -> None:
        """Probes the workers and gives them calls as they turn out well; those already `verified` at once."""
        for name in self._workers:
            if verified:
                self._scheduler.add_worker(name, self._clock())
            else:
                self._repair(name)

    async def aclose(self) -> None:
        """Whoever still waits gets EngineUnavailableError."""
        self._is_closed = True
        if self._timer:
            self._timer.cancel()
        for ticket in self._open:
            ticket.settle(EngineUnavailableError("The service is stopping."))
        tasks = [*self._calls.values(), *self._repairs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(worker.aclose() for worker in self._workers.values()), return_exceptions=True)

    # The queue

    def _queue(self, item: Input, tier: Tier, deadline_s: float, tickets: "list[Ticket[Input, Output]]") -> None:
        if self._is_closed:
            raise EngineUnavailableError("The service is stopping.")
        if len(self._open) >= self._max_waiting:
            raise OverloadedError(f"{self.name} has too much waiting; try again shortly.")
        now = self._clock()
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        ticket = Ticket(item, future, now + deadline_s)
        if refusal := self._scheduler.submit(ticket, tier=tier, now=now, deadline=ticket.deadline):
            raise refusal_error(refusal, model=self.name)
        tickets.append(ticket)
        self._open.add(ticket)
        self._pump_soon()

    def _leave(self, tickets: Sequence[Ticket[Input, Output]]) -> None:
        """Those that have their result are only forgotten."""
        for ticket in tickets:
            self._open.discard(ticket)
            if not ticket.future.done() or ticket.future.cancelled():
                ticket.future.cancel()
                self._scheduler.cancel(ticket, self._clock())
            else:
                # Looked at, so that asyncio does not report the failure of an input nobody waits for any more.
                ticket.future.exception()

    def _pump_soon(self) -> None:
        """Once for all that arrives in this turn of the loop."""
        if not self._is_pump_due:
            self._is_pump_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._is_pump_due = False
        if self._is_closed:
            return
        now = self._clock()
        self._carry_out(self._scheduler.poll(now, heard_until=self._heard_until))
        wakeup = self._scheduler.next_wakeup(now)
        if wakeup is None:
            return
        # A timer that rings early costs one look; one for each arrival would cost more.
        if self._timer is None or wakeup < self._timer_at:
            if self._timer:
                self._timer.cancel()
            self._timer_at = wakeup
            self._timer = asyncio.get_running_loop().call_later(max(0.0, wakeup - now), self._ring)

    def _ring(self) -> None:
        due = self._timer_at
        self._timer, self._timer_at = None, math.inf
        self._listen(due, turns=TURNS_TO_HEAR)
        self._pump()

    def _listen(self, until: float, *, turns: int) -> None:
        """Timers up to `until` have rung. What they woke, and what lies unread on sockets, is taken in by a few turns
        of the loop; before that, no answer is missed. On a machine that is too busy a loop can be late by the whole
        patience of the watchdog, which would then take every worker for lost."""
        if turns:
            asyncio.get_running_loop().call_soon(partial(self._listen, until, turns=turns - 1))
        elif until > self._heard_until:
            self._heard_until = until
            self._pump()

    def _carry_out(self, decisions: "Decisions[Ticket[Input, Output]]") -> None:
        for ticket in decisions.expired:
            ticket.settle(DeadlineExceededError("This request waited as long as it may; try again shortly."))
        for batch in decisions.lost:
            self._note(batch.items, self._watchdog_s, "lost")
            if task := self._calls.pop(batch.id, None):
                task.cancel()
        self._suspect(decisions.given_up)
        for worker in decisions.quarantined:
            self._repair(worker)
        for batch in decisions.sends:
            if batch.worker == self._going_on:
                self._following.append(batch)
            else:
                self._calls[batch.id] = asyncio.create_task(self._work(batch))

    # Calls

    async def _work(self, batch: "Batch[Ticket[Input, Output]]") -> None:
        """One call, and those that the same worker gets at once after it: a task for each would have to wait its turn.

        The next call comes before the callers of the last: to wake and answer fifty of them takes milliseconds.
        """
        following: Batch[Ticket[Input, Output]] | None = batch
        while following is not None:
            answers = await self._make_call(following)
            following = self._go_on(following)
            _settle(answers)

    def _go_on(self, ended: "Batch[Ticket[Input, Output]]") -> "Batch[Ticket[Input, Output]] | None":
        task = self._calls.pop(ended.id, None)
        self._going_on = ended.worker
        self._pump()
        self._going_on = None
        following = self._following.pop() if self._following else None
        if following is not None and task is not None:
            self._calls[following.id] = task
        return following

    async def _make_call(self, batch: "Batch[Ticket[Input, Output]]") -> "Sequence[Answer[Input, Output]]":
        worker = self._workers[batch.worker]
        began = self._clock()
        # The watch begins when the call does: this task may have had to wait for its turn.
        self._scheduler.renew(batch.id, began)
        answers: Sequence[Answer[Input, Output]] = ()
        try:
            answers, outcome = await self._serve(worker, batch)
            self._scheduler.complete(batch.id, self._clock())
        except Exception as error:  # noqa: BLE001 - whatever a worker raises, its batch must be decided
            outcome = _kind(error)
            self._fail(batch)
        self._note(batch.items, self._clock() - began, outcome)
        return answers

    async def _serve(
        self, worker: BatchWorker[Input, Output], batch: "Batch[Ticket[Input, Output]]"
    ) -> "tuple[Sequence[Answer[Input, Output]], str]":
        try:
            return await self._ask(worker, batch.items), "ok"
        except EngineRefusedError as error:
            await self._isolate(worker, batch.items, error, renew=lambda: self._renew(batch.id))
            return (), "refused"

    def _renew(self, batch_id: int) -> None:
        self._scheduler.renew(batch_id, self._clock())
        self._pump_soon()

    async def _ask(
        self, worker: BatchWorker[Input, Output], tickets: "Sequence[Ticket[Input, Output]]"
    ) -> "Sequence[Answer[Input, Output]]":
        """One call. Whoever left, or was answered by an earlier part of the same batch, is not in it."""
        waiting = [ticket for ticket in tickets if not ticket.future.done()]
        if not waiting:
            return ()
        answers = await worker.call([ticket.item for ticket in waiting])
        if len(answers) != len(waiting):
            raise EngineProtocolError(f"The engine gave {len(answers)} results for {len(waiting)} inputs.")
        return tuple(zip(waiting, answers, strict=True))

    def _fail(self, batch: "Batch[Ticket[Input, Output]]") -> None:
        now = self._clock()
        given_up = self._scheduler.fail(batch.id, now)
        self._scheduler.remove_worker(batch.worker, now)
        self._suspect(given_up)
        self._repair(batch.worker)

    # Broken workers and broken inputs

    def _suspect(self, tickets: "Sequence[Ticket[Input, Output]]") -> None:
        """They left the scheduler, and with it the watch over their deadlines."""
        if not tickets:
            return
        self._suspects.append(list(tickets))
        loop, now = asyncio.get_running_loop(), self._clock()
        for ticket in tickets:
            loop.call_later(max(0.0, ticket.deadline - now), self._expire, (ticket,))

    def _repair(self, worker: str) -> None:
        if worker not in self._repairs and not self._is_closed:
            task = asyncio.create_task(self._put_back(worker))
            self._repairs[worker] = task
            task.add_done_callback(lambda _: self._repairs.pop(worker, None))

    async def _put_back(self, name: str) -> None:
        worker = self._workers[name]
        await self._probe(worker, name)
        while self._suspects and self._isolating < max(1, len(self._workers) // 2):
            # At most half of the workers look for bad inputs at a time: somebody has to serve the others.
            self._isolating += 1
            try:
                await self._isolate(worker, self._suspects.popleft(), None, renew=lambda: None)
            finally:
                self._isolating -= 1
        self._scheduler.add_worker(name, self._clock())
        self._pump()

    async def _probe(self, worker: BatchWorker[Input, Output], name: str) -> None:
        """Until it succeeds."""
        delay_s = FIRST_PROBE_DELAY_S
        while True:
            try:
                await within(PROBE_S, worker.probe())
            except Exception as error:  # noqa: BLE001 - whatever a probe raises, it is not to be the last
                logger.info("worker is not well", extra={"pool": self.name, "worker": name, "reason": _kind(error)})
                await asyncio.sleep(max(delay_s, len(self._repairs) / MOST_PROBES_PER_S))
                delay_s = min(PROBE_DELAY_GROWTH * delay_s, LONGEST_PROBE_DELAY_S)
            else:
                return

    async def _isolate(
        self,
        worker: BatchWorker[Input, Output],
        tickets: "Sequence[Ticket[Input, Output]]",
        refusal: EngineRefusedError | None,
        *,
        renew: Callable[[], None],
    ) -> None:
        """Smaller and smaller parts of a batch that failed, until each input is answered or failed by itself."""
        waiting = [ticket for ticket in tickets if not ticket.future.done()]
        if len(waiting) == 1 and refusal:
            waiting[0].settle(refusal)
            return
        search = Bisection(waiting)
        while (part := search.next_part()) is not None:
            renew()
            try:
                self._expire(part)
                _settle(await within(self._watchdog_s, self._ask(worker, part)))
            except Exception as error:  # noqa: BLE001 - as in a call: whatever a worker raises, the part failed
                if (ticket := search.failed()) is not None:
                    ticket.settle(error if isinstance(error, EngineRefusedError) else _blame(error))
                if not isinstance(error, EngineRefusedError):
                    await self._probe(worker, self.name)
            else:
                search.passed()

    def _expire(self, tickets: "Sequence[Ticket[Input, Output]]") -> None:
        now = self._clock()
        for ticket in tickets:
            if ticket.deadline <= now:
                ticket.settle(DeadlineExceededError("This request waited as long as it may; try again shortly."))

    def _note(self, items: Sequence[object], seconds: float, outcome: str) -> None:
        if self._on_call:
            self._on_call(len(items), seconds, outcome)


def _settle(answers: "Sequence[Answer[Input, Output]]") -> None:
    """A few in each turn of the loop: answers leave at its end, so the first of fifty need not wait for the last."""
    if len(answers) > WOKEN_AT_ONCE:
        asyncio.get_running_loop().call_soon(_settle, answers[WOKEN_AT_ONCE:])
    for ticket, answer in answers[:WOKEN_AT_ONCE]:
        ticket.settle(answer)


def _blame(error: Exception) -> InputFailedError:
    failure = InputFailedError("The call for this input fails: in company twice, and then alone.")
    failure.__cause__ = error
    return failure


def _kind(error: Exception) -> str:
    return (error.code if isinstance(error, BackendError) else None) or type(error).__name__
