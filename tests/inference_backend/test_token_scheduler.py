"""Token scheduling: whatever happens in whatever order, nothing is over-committed, or lost, or ended twice."""

import itertools
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inference_backend.scheduling.token import TokenPolicy, TokenScheduler, token_gate
from inference_backend.scheduling.work import Work
from inference_backend.tiers import TIERS, Tier

POLICY = TokenPolicy(prefill_portion=500, lookahead=4, most_passed=3, headroom={"free": 0.25})
NAMES = ("a", "b", "c")
TOKENS = st.integers(1, 900)


class Scheduling(RuleBasedStateMachine):
    """Beside the scheduler runs the plainest account of what waits, what runs where, and what has ended how."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.scheduler = TokenScheduler(policy=POLICY)
        self.limits: dict[str, tuple[int, int | None]] = {}
        self.draining: set[str] = set()
        self.waiting: dict[str, Work] = {}
        self.running: dict[str, tuple[Work, str]] = {}
        self.read: set[str] = set()
        self.ended: set[str] = set()
        self.numbers = itertools.count()
        self.last_started: dict[tuple[Tier, str], int] = defaultdict(lambda: -1)

    @rule(name=st.sampled_from(NAMES), slots=st.integers(1, 5), kv=st.none() | st.integers(100, 3000))
    def a_replica_is_ready(self, name: str, slots: int, kv: int | None) -> None:
        if name not in self.limits:
            self.scheduler.add_replica(name, slots=slots, kv_tokens=kv, now=self.now)
            self.limits[name] = (slots, kv)
        elif name in self.draining:
            slots, kv = self.limits[name]
            self.scheduler.add_replica(name, slots=slots, kv_tokens=kv, now=self.now)
        self.draining.discard(name)

    @precondition(lambda self: self.limits)
    @rule(data=st.data())
    def a_replica_drains(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.limits)))
        self.scheduler.drain_replica(name, self.now)
        self.draining.add(name)

    @precondition(lambda self: self.limits)
    @rule(data=st.data())
    def a_replica_is_gone(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.limits)))
        lost = {work.id for work in self.scheduler.remove_replica(name, self.now)}
        assert lost == {work_id for work_id, (_, where) in self.running.items() if where == name}
        for work_id in lost:
            self.end(work_id)
        del self.limits[name]
        self.draining.discard(name)

    @rule(
        tier=st.sampled_from(TIERS),
        key=st.sampled_from("xyz"),
        prompt=TOKENS,
        answer=TOKENS,
        patience=st.floats(0.0, 30.0),
        avoid=st.frozensets(st.sampled_from(NAMES), max_size=2),
        resumed=st.booleans(),
    )
    def work_comes(
        self, tier: Tier, key: str, prompt: int, answer: int, patience: float, avoid: frozenset[str], resumed: bool
    ) -> None:
        work = Work(
            id=str(next(self.numbers)),
            tier=tier,
            key=key,
            prompt_tokens=prompt,
            max_tokens=answer,
            deadline=self.now + patience,
            arrived_at=self.now,
            avoid=avoid,
            resumed=resumed,
        )
        refusal = self.scheduler.submit(work, self.now)
        has_replica = any(name not in avoid for name in self.limits.keys() - self.draining)
        assert (refusal is None) == has_replica
        if refusal is None:
            self.waiting[work.id] = work

    @rule(elapsed=st.floats(0.0, 8.0))
    def time_passes(self, elapsed: float) -> None:
        self.now += elapsed
        decisions = self.scheduler.poll(self.now)
        for work in decisions.expired:
            assert self.waiting.pop(work.id) == work
            self.end(work.id)
        for work, name in decisions.starts:
            assert self.waiting.pop(work.id) == work
            assert name in self.limits.keys() - self.draining - work.avoid
            assert work.deadline > self.now
            self.running[work.id] = (work, name)
            if not work.resumed:
                line = (work.tier, work.key)
                assert int(work.id) > self.last_started[line], "first come, first served for each key of a tier"
                self.last_started[line] = int(work.id)
        assert all(work.deadline >= self.now for work in self.waiting.values())

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_first_token_comes(self, data: st.DataObject) -> None:
        work_id = data.draw(st.sampled_from(sorted(self.running)))
        self.scheduler.first_token(work_id, self.now)
        self.read.add(work_id)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), tokens=st.integers(0, 50))
    def an_answer_ends(self, data: st.DataObject, tokens: int) -> None:
        work_id = data.draw(st.sampled_from(sorted(self.running)))
        self.scheduler.finish(work_id, tokens, self.now)
        self.end(work_id)

    @precondition(lambda self: self.running or self.waiting)
    @rule(data=st.data())
    def a_caller_leaves(self, data: st.DataObject) -> None:
        work_id = data.draw(st.sampled_from(sorted([*self.running, *self.waiting])))
        assert self.scheduler.cancel(work_id, self.now)
        self.waiting.pop(work_id, None)
        self.end(work_id)

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def what_has_ended_ends_again(self, data: st.DataObject) -> None:
        work_id = data.draw(st.sampled_from(sorted(self.ended)))
        self.scheduler.first_token(work_id, self.now)
        self.scheduler.finish(work_id, 5, self.now)
        assert not self.scheduler.cancel(work_id, self.now)

    def end(self, work_id: str) -> None:
        assert work_id not in self.ended
        self.ended.add(work_id)
        self.running.pop(work_id, None)
        self.read.discard(work_id)

    @invariant()
    def what_it_says_is_what_is(self) -> None:
        snapshot = self.scheduler.snapshot()
        assert sum(snapshot.waiting.values()) == len(self.waiting)
        assert snapshot.running == len(self.running)
        wakeup = self.scheduler.next_wakeup()
        assert (wakeup is not None) == bool(self.waiting)

    @invariant()
    def no_replica_is_given_more_than_it_has(self) -> None:
        for use in self.scheduler.snapshot().replicas:
            slots, kv = self.limits[use.name]
            here = [work for work, where in self.running.values() if where == use.name]
            unread = [work.prompt_tokens for work in here if work.id not in self.read]
            assert use.running == len(here) <= slots
            assert use.prefill_tokens == sum(unread)
            assert len(unread) <= 1 or sum(unread) <= POLICY.prefill_portion
            reserved = [work.prompt_tokens + work.max_tokens for work in here]
            if kv is None:
                assert use.kv_used == sum(reserved)
            else:
                assert use.kv_used == sum(min(size, kv) for size in reserved) <= kv

    def teardown(self) -> None:
        for work_id in [*self.waiting, *self.running]:
            self.scheduler.cancel(work_id, self.now)
        for use in self.scheduler.snapshot().replicas:
            assert (use.running, use.kv_used, use.prefill_tokens) == (0, 0, 0)
        assert self.scheduler.next_wakeup() is None
        assert not self.scheduler.poll(self.now + 1000).starts


Scheduling.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestScheduling = Scheduling.TestCase


def work(number: int, *, tier: Tier = "free", at: float = 0.0, patience: float = 1e6, **other: object) -> Work:
    fields: dict[str, object] = {
        "id": str(number),
        "tier": tier,
        "key": "k",
        "prompt_tokens": 10,
        "max_tokens": 10,
        "deadline": at + patience,
        "arrived_at": at,
    }
    return Work(**(fields | other))  # type: ignore[arg-type]


def scheduler_with(
    slots: int = 1, *, kv_tokens: int | None = None, replicas: int = 1, **policy: object
) -> TokenScheduler:
    scheduler = TokenScheduler(policy=TokenPolicy(**policy))  # type: ignore[arg-type]
    for number in range(replicas):
        scheduler.add_replica(f"gpu-{number}", slots=slots, kv_tokens=kv_tokens, now=0.0)
    return scheduler


def started(scheduler: TokenScheduler, now: float) -> list[str]:
    return [work.id for work, _ in scheduler.poll(now).starts]


def test_one_free_request_is_served_although_paying_ones_never_stop_coming() -> None:
    scheduler = scheduler_with(age_s={"free": 20.0, "pro": 10.0}, aged_every=8)
    scheduler.submit(work(0, tier="free"), 0.0)
    now, running, starts_after_age = 0.0, None, 0
    for number in itertools.count(1):
        scheduler.submit(work(2 * number, tier="internal", at=now), now)
        scheduler.submit(work(2 * number + 1, tier="internal", at=now), now)
        if running:
            scheduler.finish(running, 5, now)
        (running,) = started(scheduler, now)
        starts_after_age += now >= 20.0
        if running == "0":
            break
        now += 1.0
        assert now < 100.0
    assert now >= 20.0
    assert starts_after_age <= 8


def test_aged_work_gets_one_start_in_eight_and_no_more() -> None:
    scheduler = scheduler_with(age_s={"free": 1.0}, aged_every=8)
    for number in range(100):
        scheduler.submit(work(number, tier="free", key=str(number)), 0.0)
    for number in range(100, 300):
        scheduler.submit(work(number, tier="internal"), 0.0)
    order = []
    for _ in range(80):
        (work_id,) = started(scheduler, 50.0)
        order.append(int(work_id) < 100)
        scheduler.finish(work_id, 1, 50.0)
    assert sum(order) == 10
    assert max(len(list(group)) for is_free, group in itertools.groupby(order) if is_free) == 1


def test_work_is_given_up_in_time_and_never_started_late() -> None:
    scheduler = scheduler_with()
    scheduler.submit(work(0), 0.0)
    assert started(scheduler, 0.0) == ["0"]
    scheduler.submit(work(1, patience=2.0), 0.0)
    wakeup = scheduler.next_wakeup()
    assert wakeup is not None
    assert wakeup <= 2.0
    assert [expired.id for expired in scheduler.poll(wakeup).expired] == ["1"]
    scheduler.finish("0", 5, 3.0)
    assert started(scheduler, 3.0) == []


def test_work_whose_prompt_takes_longer_than_it_has_left_is_given_up_before_its_deadline() -> None:
    scheduler = scheduler_with(prefill_portion=500)
    scheduler.submit(work(0, prompt_tokens=1000), 0.0)
    scheduler.poll(0.0)
    scheduler.first_token("0", 4.0)
    scheduler.submit(work(1, at=5.0, prompt_tokens=1000, patience=10.0), 5.0)
    assert not scheduler.poll(9.9).expired
    assert [expired.id for expired in scheduler.poll(10.0).expired] == ["1"]


def test_work_starts_at_once_where_a_place_is_free_however_slow_the_engine_was() -> None:
    scheduler = scheduler_with()
    scheduler.submit(work(0, prompt_tokens=10), 0.0)
    scheduler.poll(0.0)
    scheduler.first_token("0", 100.0)
    scheduler.finish("0", 10, 101.0)
    scheduler.submit(work(1, at=101.0, prompt_tokens=1000, patience=10.0), 101.0)
    assert started(scheduler, 101.0) == ["1"]


def test_a_long_prompt_waits_while_others_are_read_but_is_let_in_alone() -> None:
    scheduler = scheduler_with(slots=8, prefill_portion=1000)
    scheduler.submit(work(0, prompt_tokens=600), 0.0)
    scheduler.submit(work(1, prompt_tokens=5000, key="long"), 0.0)
    assert started(scheduler, 0.0) == ["0"]
    scheduler.first_token("0", 0.1)
    assert started(scheduler, 0.1) == ["1"]
    scheduler.submit(work(2), 0.2)
    assert started(scheduler, 0.2) == []
    scheduler.first_token("1", 0.9)
    assert started(scheduler, 0.9) == ["2"]


def test_small_work_passes_large_work_for_a_while_and_not_for_ever() -> None:
    scheduler = scheduler_with(slots=4, kv_tokens=1000, most_passed=5, headroom={})
    numbers = itertools.count(1)
    for number in itertools.islice(numbers, 2):
        scheduler.submit(work(number, max_tokens=290), 0.0)
    running = started(scheduler, 0.0)
    scheduler.submit(work(0, key="large", max_tokens=900), 0.0)
    passed = 0
    while "0" not in running:
        scheduler.submit(work(next(numbers), max_tokens=290, key=f"small {passed}"), 0.0)
        running += started(scheduler, 0.0)
        if "0" not in running:
            scheduler.finish(running.pop(0), 1, 0.0)
            passed += 1
        assert passed < 20


def test_work_goes_where_its_prefix_is_known_while_the_replicas_are_about_as_busy() -> None:
    scheduler = scheduler_with(slots=8, replicas=2, prefill_portion=100_000)
    prefix = tuple(range(10))
    scheduler.submit(work(0, prompt_tokens=2000, prefix=prefix), 0.0)
    ((_, home),) = scheduler.poll(0.0).starts
    scheduler.first_token("0", 0.5)
    scheduler.submit(work(1, prompt_tokens=2000, prefix=prefix), 0.5)
    assert scheduler.poll(0.5).starts[0][1] == home
    for number in range(2, 6):
        scheduler.submit(work(number, prompt_tokens=2000, avoid=frozenset({"gpu-0", "gpu-1"} - {home})), 0.5)
    scheduler.poll(0.5)
    scheduler.submit(work(9, prompt_tokens=2000, prefix=prefix), 0.5)
    assert scheduler.poll(0.5).starts[0][1] != home


def test_work_that_lost_its_replica_goes_first_and_not_there_again() -> None:
    scheduler = scheduler_with(replicas=2)
    for number in range(6):
        scheduler.submit(work(number, tier="internal"), 0.0)
    assert started(scheduler, 0.0) == ["0", "1"]
    (lost,) = scheduler.remove_replica("gpu-0", 1.0)
    scheduler.submit(work(10, resumed=True, avoid=frozenset({"gpu-0"})), 1.0)
    scheduler.add_replica("gpu-0", slots=1, kv_tokens=None, now=1.0)
    assert [(other.id, name) for other, name in scheduler.poll(1.0).starts] == [("2", "gpu-0")]
    scheduler.finish("1", 5, 2.0)
    assert [(other.id, name) for other, name in scheduler.poll(2.0).starts] == [("10", "gpu-1")]
    assert lost.id == "0"


def test_work_that_avoids_a_replica_keeps_nobody_else_from_it() -> None:
    scheduler = scheduler_with(replicas=2)
    for number in range(2):
        scheduler.submit(work(number), 0.0)
    scheduler.poll(0.0)
    for number in range(10, 40):
        scheduler.submit(work(number, resumed=True, avoid=frozenset({"gpu-0"})), 0.0)
    scheduler.submit(work(50), 0.0)
    scheduler.finish("0", 5, 1.0)
    assert [(other.id, name) for other, name in scheduler.poll(1.0).starts] == [("50", "gpu-0")]


def test_without_a_replica_that_may_take_it_work_is_refused_at_once() -> None:
    scheduler = TokenScheduler(gate=token_gate())
    refusal = scheduler.submit(work(0), 0.0)
    assert refusal is not None
    assert refusal.code == "no_capacity"
    scheduler.add_replica("gpu-0", slots=1, kv_tokens=None, now=0.0)
    refusal = scheduler.submit(work(0, avoid=frozenset({"gpu-0"})), 0.0)
    assert refusal is not None
    scheduler.drain_replica("gpu-0", 0.0)
    assert scheduler.submit(work(0), 0.0) is not None


def test_free_work_is_shed_first_then_pro_and_internal_last() -> None:
    scheduler = TokenScheduler(gate=token_gate())
    scheduler.add_replica("gpu-0", slots=4, kv_tokens=None, now=0.0)
    refused: dict[Tier, int] = {}
    for number in range(3000):
        tier = TIERS[number % 3]
        refusal = scheduler.submit(work(number, tier=tier, key=str(number % 30), max_tokens=100), number / 100)
        scheduler.poll(number / 100)
        if refusal is not None:
            refused.setdefault(tier, number)
            assert 1 <= refusal.retry_after_s <= 60
    assert list(refused) == ["free", "pro", "internal"]


def test_cancelled_work_leaves_nothing_behind() -> None:
    scheduler = scheduler_with()
    scheduler.submit(work(0), 0.0)
    scheduler.poll(0.0)
    scheduler.submit(work(1, key="stays"), 0.0)
    line = scheduler._line.tiers["free"]
    for number in range(2, 20_002):
        scheduler.submit(work(number, key=f"key {number}"), number / 100)
        assert scheduler.cancel(str(number), number / 100)
        assert len(line._heap) < 200
        assert len(line._ahead_heap) < 200
    assert scheduler.snapshot().waiting["free"] == 1


def test_the_same_id_twice_is_a_mistake_of_the_caller() -> None:
    scheduler = scheduler_with()
    scheduler.submit(work(0), 0.0)
    with pytest.raises(ValueError, match="here already"):
        scheduler.submit(work(0), 0.0)
