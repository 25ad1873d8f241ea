"""Any order of events: each item ends once, nobody is overtaken against the rules, counters add up, nothing leaks."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.batch_decisions import Batch, Decisions
from inference_backend.scheduling.deadlines import TICK_S
from inference_backend.scheduling.delay_gate import DelayGate
from inference_backend.tiers import TIERS, Tier

MAX_SIZE, CALL_S, RESERVED = 8, 0.2, 2
SECONDS = st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1.0])
NUMBERS = st.integers(min_value=0, max_value=1000)


class AnyOrderOfEvents(RuleBasedStateMachine):
    """The scheduler beside the plainest bookkeeping that knows what must be true."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = DelayGate()
        self.scheduler: BatchScheduler[int] = BatchScheduler(
            max_size=MAX_SIZE, call_s=CALL_S, gate=self.gate, reserved_free=RESERVED
        )
        self.now = 100.0
        self.submitted = 0
        self.tiers: dict[int, Tier] = {}
        self.deadlines: dict[int, float] = {}
        self.attempts: dict[int, int] = {}
        self.waiting: list[int] = []
        self.ended: dict[int, str] = {}
        self.live: dict[int, Batch[int]] = {}
        self.old_batches: list[int] = []
        self.workers: set[str] = set()
        self.draining: set[str] = set()

    # What may happen

    @rule(tier=st.sampled_from(TIERS), count=st.integers(1, 12), time_left=st.sampled_from([None, 0.1, 0.25, 0.4, 2.0]))
    def submit(self, tier: Tier, count: int, time_left: float | None) -> None:
        for _ in range(count):
            item = self.submitted
            self.submitted += 1
            deadline = None if time_left is None else self.now + time_left
            if self.scheduler.submit(item, tier=tier, now=self.now, deadline=deadline):
                self.end(item, "refused")
                continue
            self.tiers[item] = tier
            self.attempts[item] = 0
            self.waiting.append(item)
            if deadline is not None:
                self.deadlines[item] = deadline

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.obey(self.scheduler.poll(self.now))

    @rule()
    def wake_up(self) -> None:
        wakeup = self.scheduler.next_wakeup(self.now)
        if wakeup is not None:
            self.now = max(self.now, wakeup)
            self.obey(self.scheduler.poll(self.now))

    @precondition(lambda self: self.live)
    @rule(number=NUMBERS, cancelled=st.booleans())
    def complete(self, number: int, cancelled: bool) -> None:
        batch = self.pick(number)
        if cancelled:
            self.cancel_item(batch.items[0])
        for item in self.scheduler.complete(batch.id, self.now):
            assert item in batch.items
            self.end(item, "completed")
        self.forget(batch)

    @precondition(lambda self: self.live)
    @rule(number=NUMBERS)
    def fail(self, number: int) -> None:
        batch = self.pick(number)
        self.requeue(batch, self.scheduler.fail(batch.id, self.now))
        # Whether that quarantined the worker is said by the next poll.
        self.obey(self.scheduler.poll(self.now))

    @precondition(lambda self: self.live)
    @rule(number=NUMBERS)
    def renew(self, number: int) -> None:
        assert self.scheduler.renew(self.pick(number).id, self.now)

    @precondition(lambda self: self.old_batches)
    @rule(number=NUMBERS)
    def late_answer(self, number: int) -> None:
        batch_id = self.old_batches[number % len(self.old_batches)]
        assert self.scheduler.complete(batch_id, self.now) == []
        assert self.scheduler.fail(batch_id, self.now) == []

    @precondition(lambda self: self.submitted)
    @rule(number=NUMBERS)
    def cancel(self, number: int) -> None:
        self.cancel_item(number % self.submitted)

    @precondition(lambda self: len(self.workers | self.draining) < 6)
    @rule(number=st.integers(0, 5))
    def add_worker(self, number: int) -> None:
        name = f"gpu-{number}"
        if name not in self.workers | self.draining:
            self.scheduler.add_worker(name, self.now)
            self.workers.add(name)

    @rule(number=st.integers(0, 5))
    def remove_worker(self, number: int) -> None:
        name = f"gpu-{number}"
        self.workers.discard(name)
        self.draining.discard(name)
        for batch in self.scheduler.remove_worker(name, self.now):
            # What is given up here is reported by the next poll.
            given_up = [item for item in batch.items if item not in self.ended and self.attempts[item] == 2]
            self.requeue(batch, given_up)
            self.obey(self.scheduler.poll(self.now), told=given_up)

    @rule(number=st.integers(0, 5))
    def drain_worker(self, number: int) -> None:
        name = f"gpu-{number}"
        self.scheduler.drain_worker(name, self.now)
        if name in self.workers:
            self.workers.remove(name)
            if any(batch.worker == name for batch in self.live.values()):
                self.draining.add(name)

    # Bookkeeping

    def pick(self, number: int) -> Batch[int]:
        return list(self.live.values())[number % len(self.live)]

    def end(self, item: int, how: str) -> None:
        assert item not in self.ended, f"{item} was {self.ended[item]}, and now {how}"
        self.ended[item] = how

    def cancel_item(self, item: int) -> None:
        is_here = item not in self.ended
        assert self.scheduler.cancel(item, self.now) == is_here
        if is_here:
            self.end(item, "cancelled")
            if item in self.waiting:
                self.waiting.remove(item)

    def forget(self, batch: Batch[int]) -> None:
        del self.live[batch.id]
        self.draining.discard(batch.worker)
        self.old_batches.append(batch.id)

    def requeue(self, batch: Batch[int], given_up: list[int]) -> None:
        self.forget(batch)
        for item in batch.items:
            if item in given_up:
                assert self.attempts[item] == 2
                self.end(item, "given up")
            elif item not in self.ended:
                assert self.attempts[item] == 1
                self.waiting.append(item)

    def obey(self, decisions: Decisions[int], told: list[int] | None = None) -> None:
        for batch in decisions.lost:
            self.requeue(batch, [item for item in batch.items if item in decisions.given_up])
        lost = {item for batch in decisions.lost for item in batch.items}
        assert set(decisions.given_up) - lost == set(told or ())
        for name in decisions.quarantined:
            self.workers.discard(name)
        for item in decisions.expired:
            assert self.now >= self.deadlines[item] - CALL_S - 1e-9
            self.end(item, "expired")
            self.waiting.remove(item)
        for batch in decisions.sends:
            self.check_sent(batch)

    def check_sent(self, batch: Batch[int]) -> None:
        assert 1 <= len(batch.items) <= MAX_SIZE
        assert batch.worker in self.workers
        assert all(batch.worker != other.worker for other in self.live.values())
        assert not set(batch.items) & {item for other in self.live.values() for item in other.items}
        fresh = [item for item in batch.items if not self.attempts[item]]
        again = [item for item in batch.items if self.attempts[item]]
        assert again == [item for item in self.waiting if self.attempts[item]][: len(again)]
        left = [item for item in self.waiting if item not in batch.items]
        for tier in TIERS:
            in_order = [item for item in self.waiting if self.tiers[item] == tier and not self.attempts[item]]
            mine = [item for item in fresh if self.tiers[item] == tier]
            assert mine == in_order[: len(mine)], "overtaken within a tier"
        for number, tier in enumerate(TIERS):
            better = [item for item in left if TIERS.index(self.tiers[item]) > number and not self.attempts[item]]
            if better:
                assert sum(self.tiers[item] == tier for item in fresh) <= RESERVED
        for item in batch.items:
            assert item not in self.ended
            assert self.now <= self.deadlines.get(item, self.now + CALL_S) - CALL_S + 1e-9
            self.attempts[item] += 1
            assert self.attempts[item] <= 2
            self.waiting.remove(item)
        self.live[batch.id] = batch

    @invariant()
    def counters_add_up(self) -> None:
        now = self.scheduler.snapshot()
        refused = sum(now.refused.values())
        ends = refused + now.completed + now.expired + now.cancelled + now.given_up
        assert now.submitted == ends + sum(now.queued.values()) + now.in_flight == self.submitted
        assert sum(now.queued.values()) == len(self.waiting)
        assert now.queued == {tier: sum(self.tiers[item] == tier for item in self.waiting) for tier in TIERS}
        assert now.healthy == len(self.workers)
        assert now.in_flight == sum(item not in self.ended for batch in self.live.values() for item in batch.items)
        counted = {"refused": refused, "completed": now.completed, "expired": now.expired}
        counted |= {"cancelled": now.cancelled, "given up": now.given_up}
        assert counted == {how: list(self.ended.values()).count(how) for how in counted}

    def teardown(self) -> None:
        """With a worker that answers, everything that is still here ends, and nothing is left."""
        self.scheduler.add_worker("last", self.now)
        self.workers.add("last")
        for _ in range(10 * self.submitted + 10):
            for batch in list(self.live.values()):
                for item in self.scheduler.complete(batch.id, self.now):
                    self.end(item, "completed")
                self.forget(batch)
            self.obey(self.scheduler.poll(self.now))
            self.counters_add_up()
            if not self.waiting and not self.live:
                break
            self.now += CALL_S
        assert len(self.ended) == self.submitted
        self.now += TICK_S
        assert not self.scheduler.poll(self.now).sends
        assert self.scheduler.next_wakeup(self.now) is None


TestAnyOrderOfEvents = AnyOrderOfEvents.TestCase
TestAnyOrderOfEvents.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
