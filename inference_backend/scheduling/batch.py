"""The fixed batch call: up to `max_size` inputs, always the same time. Which worker is sent what, and when."""

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from inference_backend.scheduling.admitted import AdmittedRates
from inference_backend.scheduling.batch_decisions import Batch, Decisions, Snapshot
from inference_backend.scheduling.deadlines import DeadlineWheel
from inference_backend.scheduling.delay_gate import DelayGate, Refusal
from inference_backend.scheduling.pace import Pace
from inference_backend.scheduling.tier_queue import Entry, TierQueue
from inference_backend.scheduling.worker_set import WorkerSet
from inference_backend.tiers import TIERS, Tier

Item = TypeVar("Item", bound=Hashable)

MOST_ATTEMPTS = 2
LEAST_SHARE = 0.01
# In calls (call_s): from when on one that has not ended is suspect.
OVERDUE_FACTOR = 1.02
# In intervals: with more, sends would come too close.
LARGEST_TICK = 0.05


class Flight(Generic[Item]):
    """A batch on its worker."""

    __slots__ = ("batch", "entries", "lost_at", "sent_at")

    def __init__(self, batch: Batch[Item], entries: list[Entry[Item]], sent_at: float, lost_at: float) -> None:
        self.batch = batch
        self.entries = entries
        self.sent_at = sent_at
        self.lost_at = lost_at


class BatchScheduler(Generic[Item]):
    """One queue for all workers of a pool; a batch is put together when a worker is free for it, never earlier.

    Sends are paced: `healthy` workers can begin `healthy / call_s` calls a second, and if these are evenly spaced
    nobody waits longer than `call_s / healthy`. A batch goes out when a worker is idle and a full batch waits; or that
    interval has passed since the last one (a longer one where the idle workers have to last until the next is free);
    or there are fewer items than workers, so that batching gains nothing. How many may go out at once for the last
    reason is limited: workers that have just been sent single items together are missing together when traffic rises,
    and come back together ever after.

    A pure state machine: every method takes the time, `poll` says what to do. Call `poll` after every other method
    and at `next_wakeup`. Each decision costs O(1) a request and O(log n) of the deadlines in use. Not thread-safe.
    """

    def __init__(
        self,
        *,
        max_size: int = 50,
        call_s: float = 0.2,
        watchdog_factor: float = 1.25,
        gate: DelayGate | None = None,
        reserved_free: float = 3,
        energy_window_s: float | None = None,
        tick_s: float = 0.0,
    ) -> None:
        """`reserved_free` places of each batch are kept for each tier below the first (at most a quarter of them).

        With `energy_window_s` (set to max_size / rate) batches are not paced but sent full or when their oldest item
        has waited so long: fewer calls for the same work, a few ms later. `tick_s`: how coarse the timers of the driver
        are; a send that is due so soon is made when `poll` is called, because a timer would be late. Raises ValueError
        for sizes that make no sense.
        """
        if max_size < 1 or call_s <= 0 or watchdog_factor <= 1 or reserved_free < 0:
            raise ValueError("max_size >= 1, call_s > 0, watchdog_factor > 1 and reserved_free >= 0 are needed")
        self.max_size = max_size
        self.call_s = call_s
        self._watchdog_s = watchdog_factor * call_s
        self._gate = gate
        self._energy_window_s = energy_window_s
        self._tick_s = tick_s
        self._queue: TierQueue[Item] = TierQueue(max_size=max_size, reserved=reserved_free)
        self._wheel: DeadlineWheel[Item] = DeadlineWheel()
        self._admitted = AdmittedRates()
        # What a tier can count on while those above take all they want.
        self._least_share = max(LEAST_SHARE, self._queue.reserved / max_size)
        self._entries: dict[Item, Entry[Item]] = {}
        self._workers = WorkerSet()
        self._flights: OrderedDict[int, Flight[Item]] = OrderedDict()
        self._pace = Pace(call_s)
        self._next_id = 1
        self._lost: list[Batch[Item]] = []
        self._given_up: list[Item] = []
        self._quarantined: list[str] = []
        self._sends = self._sent_items = self._lost_batches = self._failed_batches = 0
        self._submitted = self._completed = self._expired = self._cancelled = self._all_given_up = 0
        self._refused: dict[Tier, int] = dict.fromkeys(TIERS, 0)

    # Workers

    def add_worker(self, worker: str, now: float) -> None:
        """From now on it may take calls. Raises ValueError if it may already."""
        self._workers.add(worker)

    def drain_worker(self, worker: str, now: float) -> None:
        """It ends the call it has and gets no other; then it is gone. An unknown worker is ignored."""
        self._workers.drain(worker)

    def remove_worker(self, worker: str, now: float) -> list[Batch[Item]]:
        """It is dead: what it was sent is queued again, at the head. Returns that batch.

        An unknown worker is ignored: the watchdog may have been faster.
        """
        batch_id = self._workers.remove(worker)
        if batch_id is None:
            return []
        flight = self._flights.pop(batch_id)
        self._lost_batches += 1
        self._given_up.extend(self._retry(flight))
        return [flight.batch]

    # Items

    def submit(self, item: Item, *, tier: Tier, now: float, deadline: float | None = None) -> Refusal | None:
        """None: queued. `deadline` is when the result is of no use any more. Raises ValueError for an item in hand."""
        if item in self._entries:
            raise ValueError(f"item {item!r} is here already")
        self._submitted += 1
        self._admitted.advance(now)
        if refusal := self._refuse(tier, now, deadline):
            self._refused[tier] += 1
            return refusal
        entry = Entry(item, tier, now, math.inf if deadline is None else deadline - self.call_s)
        self._wheel.add(item, entry.expires_at)
        self._admitted.add(tier)
        self._entries[item] = entry
        self._queue.append(entry)
        return None

    def _refuse(self, tier: Tier, now: float, deadline: float | None) -> Refusal | None:
        if deadline is not None and deadline - self.call_s < now:
            return Refusal(tier=tier, code="deadline", retry_after_s=1, delay_s=self.expected_wait(tier))
        if self._gate is None:
            return None
        if not self._workers.healthy:
            return self._gate.admit(tier, delay_s=math.inf, now=now)
        capacity = self._workers.healthy * self.max_size / self.call_s
        # What the very next call takes along is no queue. All of it in a pool of few workers would be too long a wait.
        next_call = min(self.max_size, self._gate.least_low_s * capacity)
        delay_s = max(0.0, self._queue.count_ahead(tier) - next_call) / self._left_for(tier, capacity)
        return self._gate.admit(
            tier, delay_s=delay_s, now=now, capacity=capacity, interval_s=self.call_s / self._workers.healthy
        )

    def _left_for(self, tier: Tier, capacity: float) -> float:
        """Requests a second that the tiers above leave to this one."""
        return max(capacity - self._admitted.above(tier), self._least_share * capacity)

    def cancel(self, item: Item, now: float) -> bool:
        """True: it will not be reported any more. A call it is in goes on for the others. O(1)."""
        entry = self._entries.pop(item, None)
        if entry is None:
            return False
        self._cancelled += 1
        if entry.batch_id is None:
            self._queue.remove(entry)
            self._wheel.discard(item, entry.expires_at)
        else:
            entry.is_cancelled = True
        return True

    # Calls

    def complete(self, batch_id: int, now: float) -> list[Item]:
        """The call answered. Returns the items whose results count: none if the batch was given up on before."""
        flight = self._flights.pop(batch_id, None)
        if flight is None:
            return []
        self._workers.succeeded(flight.batch.worker)
        done = [entry.item for entry in flight.entries if not entry.is_cancelled]
        for item in done:
            del self._entries[item]
        self._completed += len(done)
        return done

    def fail(self, batch_id: int, now: float) -> list[Item]:
        """The call failed. Returns the items that are given up; the others are queued again at the head, once."""
        flight = self._flights.pop(batch_id, None)
        if flight is None:
            return []
        self._failed_batches += 1
        worker = flight.batch.worker
        if not self._workers.failed(worker, rest_until=flight.sent_at + self.call_s, now=now):
            self._quarantined.append(worker)
        return self._retry(flight)

    def renew(self, batch_id: int, now: float) -> bool:
        """The worker begins another call for the same batch (a part of it): the watchdog starts again from `now`."""
        flight = self._flights.get(batch_id)
        if flight is None:
            return False
        flight.sent_at = now
        flight.lost_at = now + self._watchdog_s
        self._flights.move_to_end(batch_id)
        return True

    def _retry(self, flight: Flight[Item]) -> list[Item]:
        """Queues again what has an attempt left; returns the rest, already forgotten."""
        again: list[Entry[Item]] = []
        given_up: list[Item] = []
        for entry in flight.entries:
            entry.batch_id = None
            if entry.is_cancelled:
                continue
            if entry.attempts < MOST_ATTEMPTS:
                again.append(entry)
                self._wheel.add(entry.item, entry.expires_at)
            else:
                del self._entries[entry.item]
                given_up.append(entry.item)
        self._queue.put_back(again)
        self._all_given_up += len(given_up)
        return given_up

    # Decisions

    def poll(self, now: float, *, heard_until: float | None = None) -> Decisions[Item]:
        """`heard_until`: answers that came up to then were reported, so only a call overdue by then is lost.

        A driver that was held up has answers lying unread; None: it has none.
        """
        self._lose_overdue(now if heard_until is None else heard_until)
        self._workers.wake(now)
        expired = self._expire(now)
        sends: list[Batch[Item]] = []
        while self._workers.idle and len(self._queue) and (due_at := self._due_at(now)) is not None:
            batch = self._send(now, due_at, expired)
            if batch is not None:
                sends.append(batch)
        if not (sends or expired or self._lost or self._given_up or self._quarantined):
            return Decisions()
        self._expired += len(expired)
        decisions = Decisions(
            sends=sends, expired=expired, lost=self._lost, given_up=self._given_up, quarantined=self._quarantined
        )
        self._lost, self._given_up, self._quarantined = [], [], []
        return decisions

    def next_wakeup(self, now: float) -> float | None:
        """When `poll` has something to do at the latest, if nothing else happens; None: never."""
        times: list[float] = []
        if len(self._queue):
            if (rested_at := self._workers.next_rested_at()) is not None:
                times.append(rested_at)
            if self._workers.idle:
                times.append(max(now, self._send_at(now)))
        if self._flights:
            times.append(next(iter(self._flights.values())).lost_at)
        if (expiry := self._wheel.next_at()) is not None:
            times.append(expiry)
        return min(times, default=None)

    def _due_at(self, now: float) -> float | None:
        """For when the send was planned that is to be made now; None: it is too early for one."""
        at = self._send_at(now)
        if at <= now:
            return now
        is_close = at - now <= min(self._tick_s, LARGEST_TICK * self.call_s / self._workers.healthy)
        return at if is_close and self._imminent_loss(now) is None else None

    def _send_at(self, now: float) -> float:
        """From when on the queue is worth a call, given that a worker is idle and something waits."""
        idle = self._workers.idle
        if idle == 1 and (lost_at := self._imminent_loss(now)) is not None:
            return lost_at
        if self._queue.has_second_attempts:
            return now
        if len(self._queue) >= self.max_size:
            return self._pace.full_batch_at(now, idle=idle, healthy=self._workers.healthy)
        if self._energy_window_s is not None:
            oldest = self._queue.oldest_arrival()
            return now if oldest is None else oldest + self._energy_window_s
        return self._pace.batch_at(
            now,
            items=len(self._entries),
            rate=self._admitted.total,
            idle=idle,
            healthy=self._workers.healthy,
            next_free=self._next_free(now),
        )

    def _next_free(self, now: float) -> float:
        """When the next busy worker is due to be free; `now` where none is, overdue calls left aside."""
        for flight in self._flights.values():
            if flight.sent_at + self.call_s > now:
                return flight.sent_at + self.call_s
        return now

    def _imminent_loss(self, now: float) -> float | None:
        """When the watchdog is about to give up on a call: the last idle worker is kept for its items until then."""
        flight = next(iter(self._flights.values()), None)
        if flight is None or now <= flight.sent_at + OVERDUE_FACTOR * self.call_s:
            return None
        return flight.lost_at if flight.lost_at - now <= self.call_s / self._workers.healthy else None

    def _send(self, now: float, due_at: float, expired: list[Item]) -> Batch[Item] | None:
        entries, late = self._queue.take_batch(now)
        for entry in late:
            del self._entries[entry.item]
            self._wheel.discard(entry.item, entry.expires_at)
            expired.append(entry.item)
        if not entries:
            return None
        batch_id = self._next_id
        self._next_id += 1
        worker = self._workers.take(batch_id)
        attempt = 1
        for entry in entries:
            self._wheel.discard(entry.item, entry.expires_at)
            entry.batch_id = batch_id
            entry.attempts += 1
            attempt = max(attempt, entry.attempts)
        batch = Batch(batch_id, worker, tuple([entry.item for entry in entries]), attempt)
        self._flights[batch_id] = Flight(batch, entries, now, now + self._watchdog_s)
        self._pace.note_send(due_at, healthy=self._workers.healthy)
        self._sends += 1
        self._sent_items += len(entries)
        return batch

    def _lose_overdue(self, now: float) -> None:
        while self._flights:
            flight = next(iter(self._flights.values()))
            if flight.lost_at > now:
                return
            del self._flights[flight.batch.id]
            self._workers.remove(flight.batch.worker)
            self._quarantined.append(flight.batch.worker)
            self._lost_batches += 1
            self._lost.append(flight.batch)
            self._given_up.extend(self._retry(flight))

    def _expire(self, now: float) -> list[Item]:
        expired = self._wheel.pop_due(now)
        for item in expired:
            self._queue.remove(self._entries.pop(item))
        return expired

    # What others want to know

    @property
    def healthy(self) -> int:
        """Workers that take calls, busy ones included."""
        return self._workers.healthy

    def expected_wait(self, tier: Tier) -> float:
        """Seconds in the queue for one who comes now; infinite without workers.

        What is ahead, over what the workers do in a second less what the tiers above keep sending meanwhile.
        """
        if not self._workers.healthy:
            return math.inf
        capacity = self._workers.healthy * self.max_size / self.call_s
        return self._queue.count_ahead(tier) / self._left_for(tier, capacity)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            queued={tier: self._queue.count(tier) for tier in TIERS},
            in_flight=len(self._entries) - len(self._queue),
            healthy=self._workers.healthy,
            idle=self._workers.idle,
            sends=self._sends,
            sent_items=self._sent_items,
            lost_batches=self._lost_batches,
            failed_batches=self._failed_batches,
            submitted=self._submitted,
            refused=dict(self._refused),
            completed=self._completed,
            expired=self._expired,
            cancelled=self._cancelled,
            given_up=self._all_given_up,
        )
