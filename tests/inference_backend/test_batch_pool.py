"""The pool of the fixed batch call, on simulated devices: what a caller gets while workers fail and callers leave."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from inference_backend.engines.embedding import Embedding
from inference_backend.engines.simulated_call import Faults, SimulatedCall, embed
from inference_backend.errors import (
    DeadlineExceededError,
    EngineRefusedError,
    EngineUnavailableError,
    InputFailedError,
    OverloadedError,
)
from inference_backend.pools.batch_pool import BatchPool
from inference_backend.pools.submission import Ticket
from inference_backend.scheduling.batch import BatchScheduler
from inference_backend.scheduling.delay_gate import Band, DelayGate
from tests.waiting import until

CALL_S = 0.02
# Far more than the call takes, so that a busy machine makes no worker look hung; tests of hanging set their own.
PATIENCE = 250.0
Pool = BatchPool[str, Embedding]


@asynccontextmanager
async def running(
    *devices: SimulatedCall,
    max_size: int = 50,
    patience: float = PATIENCE,
    gate: DelayGate | None = None,
    max_waiting: int = 100_000,
) -> AsyncIterator[Pool]:
    scheduler: BatchScheduler[Ticket[str, Embedding]] = BatchScheduler(
        max_size=max_size, call_s=CALL_S, watchdog_factor=patience, gate=gate
    )
    workers = {f"gpu-{number}": device for number, device in enumerate(devices)}
    pool: Pool = BatchPool(scheduler, workers, watchdog_s=patience * CALL_S, max_waiting=max_waiting)
    pool.start(verified=True)
    try:
        yield pool
    finally:
        await pool.aclose()


def device(*, max_size: int = 50, **faults: Any) -> SimulatedCall:
    return SimulatedCall(call_s=CALL_S, max_size=max_size, faults=Faults(**{"down_s": 0.05, **faults}))


async def ask(pool: Pool, *texts: str, deadline_s: float = 30) -> list[Embedding | BaseException]:
    """Each text by a caller of its own."""
    calls = (pool.submit(text, tier="pro", deadline_s=deadline_s) for text in texts)
    return await asyncio.gather(*calls, return_exceptions=True)


def assert_nothing_is_left(pool: Pool) -> None:
    state = pool.snapshot()
    assert (sum(state.queued.values()), state.in_flight) == (0, 0)
    ends = state.completed + state.expired + state.cancelled + state.given_up + sum(state.refused.values())
    assert state.submitted == ends
    assert not pool._open
    assert not pool._calls


async def test_each_caller_gets_the_result_of_its_own_input() -> None:
    async with running(device(), device()) as pool:
        texts = [f"text {number}" for number in range(200)]
        assert await ask(pool, *texts) == [embed(text) for text in texts]
        assert_nothing_is_left(pool)


async def test_what_arrives_together_shares_a_call() -> None:
    gpu = device()
    async with running(gpu) as pool:
        await ask(pool, *(f"text {number}" for number in range(100)))
        assert gpu.calls <= 3


class Watched(SimulatedCall):
    """Says when a call begins."""

    def __init__(self, events: list[str], **given: Any) -> None:
        super().__init__(**given)
        self._events = events

    async def call(self, items: Any) -> Any:
        self._events.append("call")
        return await super().call(items)


async def test_the_next_call_of_a_worker_begins_before_the_callers_of_the_last_are_woken() -> None:
    events: list[str] = []
    async with running(Watched(events, call_s=CALL_S, max_size=20), max_size=20) as pool:

        async def caller(number: int) -> None:
            await pool.submit(f"text {number}", tier="pro", deadline_s=30)
            events.append("answer")

        await asyncio.gather(*(caller(number) for number in range(60)))
    assert events.index("answer") == 2


async def test_the_callers_of_one_call_are_woken_over_several_turns_of_the_loop() -> None:
    turns: set[int] = set()
    turn = 0

    def count() -> None:
        nonlocal turn
        turn += 1
        ticking.append(loop.call_soon(count))

    loop, ticking = asyncio.get_running_loop(), list[asyncio.Handle]()
    async with running(device()) as pool:

        async def caller(number: int) -> None:
            await pool.submit(f"text {number}", tier="pro", deadline_s=30)
            turns.add(turn)

        count()
        await asyncio.gather(*(caller(number) for number in range(50)))
        ticking[-1].cancel()
        assert pool.snapshot().sends == 1
    assert len(turns) >= 3


async def test_inputs_of_one_request_come_back_in_their_order() -> None:
    async with running(device(max_size=3), device(max_size=3), max_size=3) as pool:
        texts = [f"text {number}" for number in range(20)]
        assert await pool.enter(texts, tier="free", deadline_s=30).results() == [embed(text) for text in texts]


async def test_a_worker_that_dies_in_the_middle_of_a_call_costs_nobody_an_answer() -> None:
    async with running(device(dies_at=frozenset({1})), device()) as pool:
        texts = [f"text {number}" for number in range(100)]
        assert await ask(pool, *texts) == [embed(text) for text in texts]
        await until(lambda: pool.snapshot().healthy == 2)
        assert_nothing_is_left(pool)


async def test_a_worker_that_hangs_is_noticed_and_put_back_after_a_probe() -> None:
    async with running(device(hangs_at=frozenset({1})), device(), patience=10) as pool:
        texts = [f"text {number}" for number in range(60)]
        assert await ask(pool, *texts) == [embed(text) for text in texts]
        await until(lambda: pool.snapshot().healthy == 2)
        assert pool.snapshot().lost_batches == 1


async def test_a_call_that_failed_once_is_made_again_and_answered_once() -> None:
    """Of two devices one dies: every input is computed by the other, and no answer is given twice."""
    dying, well = device(dies_at=frozenset({1})), device()
    async with running(dying, well) as pool:
        answers = await ask(pool, *(f"text {number}" for number in range(40)))
        assert all(isinstance(answer, Embedding) for answer in answers)
        assert pool.snapshot().completed == 40


@pytest.mark.parametrize(
    "faults",
    [Faults(refuses="poison"), Faults(breaks="poison"), Faults(kills="poison", down_s=0.05)],
    ids=["refused", "failing", "deadly"],
)
async def test_one_bad_input_fails_alone(faults: Faults) -> None:
    async with running(*(SimulatedCall(call_s=CALL_S, max_size=50, faults=faults) for _ in range(2))) as pool:
        texts = [*(f"text {number}" for number in range(30)), "poison", *(f"more {number}" for number in range(19))]
        answers = await ask(pool, *texts)
        bad = answers.pop(30)
        assert isinstance(bad, EngineRefusedError)
        assert answers == [embed(text) for text in texts if text != "poison"]
        await until(lambda: pool.snapshot().healthy == 2)
        assert_nothing_is_left(pool)


async def test_bad_inputs_of_a_hanging_kind_fail_alone() -> None:
    class Hanging(SimulatedCall):
        async def call(self, items: Any) -> Any:
            if "hang" in items:
                await asyncio.Event().wait()
            return await super().call(items)

    devices = [Hanging(call_s=CALL_S, max_size=8) for _ in range(2)]
    async with running(*devices, max_size=8, patience=5) as pool:
        answers = await ask(pool, *"abcdefg", "hang")
        assert isinstance(answers.pop(), InputFailedError)
        assert answers == [embed(text) for text in "abcdefg"]


async def test_finding_bad_inputs_takes_few_calls() -> None:
    gpu = device(refuses="poison")
    async with running(gpu) as pool:
        answers = await ask(pool, *(f"text {number}" for number in range(48)), "poison 1", "poison 2")
        assert sum(isinstance(answer, EngineRefusedError) for answer in answers) == 2
        assert gpu.calls <= 1 + 2 * 2 * 7


async def test_the_error_of_a_request_names_its_bad_input() -> None:
    async with running(device(refuses="poison")) as pool:
        with pytest.raises(InputFailedError, match=r"^input\.2: ") as failure:
            await pool.enter(["a", "b", "poison", "c"], tier="pro", deadline_s=30).results()
        assert failure.value.index == 2
        await until(lambda: pool.snapshot().in_flight == 0)
        assert_nothing_is_left(pool)


async def test_a_worker_that_answers_with_too_few_results_is_not_believed() -> None:
    class Short(SimulatedCall):
        async def call(self, items: Any) -> Any:
            answers = await super().call(items)
            return answers[:-1] if self.calls == 1 else answers

    async with running(Short(call_s=CALL_S, max_size=50)) as pool:
        assert await ask(pool, "a", "b") == [embed("a"), embed("b")]


async def test_a_worker_whose_probe_fails_unexpectedly_is_probed_again() -> None:
    class Odd(SimulatedCall):
        probes = 0

        async def probe(self) -> None:
            self.probes += 1
            if self.probes == 2:  # the first is the one of the call that is to fail
                raise OverflowError("float too large to pack")
            await super().probe()

        async def call(self, items: Any) -> Any:
            if not self.calls:
                self.calls = self.probes = 1
                raise ValueError("no vectors")
            return await super().call(items)

    async with running(Odd(call_s=CALL_S, max_size=50)) as pool:
        assert await ask(pool, "a") == [embed("a")]
        assert_nothing_is_left(pool)


async def test_waiting_ends_at_the_deadline_when_no_worker_is_well() -> None:
    down = device()
    async with running(down) as pool:
        down.die(60)
        (answer,) = await ask(pool, "a", deadline_s=0.3)
        assert isinstance(answer, DeadlineExceededError)
        assert_nothing_is_left(pool)


async def test_suspects_get_an_answer_by_their_deadline_even_if_no_worker_comes_back() -> None:
    """Both attempts end with a dead device, and the device that should try them one by one stays dead."""

    class Dying(SimulatedCall):
        def die(self, down_s: float) -> None:
            super().die(down_s if self.calls == 1 else 600)

    async with running(Dying(call_s=CALL_S, max_size=50, faults=Faults(kills="", down_s=0.05))) as pool:
        answers = await ask(pool, "a", "b", deadline_s=1.0)
        assert all(isinstance(answer, DeadlineExceededError) for answer in answers)


async def test_a_gate_refuses_at_once_when_nothing_serves() -> None:
    gate = DelayGate()
    async with running(gate=gate) as pool:
        (answer,) = await ask(pool, "a")
        assert isinstance(answer, EngineUnavailableError)


async def test_a_gate_turns_away_what_would_wait_too_long() -> None:
    narrow = Band(low_s=0.001, high_s=0.002)
    gate = DelayGate({"free": narrow, "pro": narrow, "internal": narrow})
    async with running(device(max_size=1), max_size=1, gate=gate) as pool:
        answers = await ask(pool, *(f"text {number}" for number in range(100)))
        refused = [answer for answer in answers if isinstance(answer, OverloadedError)]
        assert refused
        assert all(1 <= (error.retry_after_s or 0) <= 60 for error in refused)
        assert len(refused) + sum(isinstance(answer, Embedding) for answer in answers) == 100


async def test_thousands_of_callers_that_leave_at_any_time_leave_nothing_behind() -> None:
    order = random.Random(7)
    devices = [device(dies_at=frozenset({5, 9})), device(hangs_at=frozenset({7})), device(breaks="odd 7")]
    async with running(*devices, patience=25) as pool:

        async def one(number: int) -> object:
            try:
                async with asyncio.timeout(order.random() * 0.3):
                    return await pool.submit(f"odd {number}", tier="free", deadline_s=5)
            except TimeoutError:
                return None

        async def several() -> object:
            try:
                async with asyncio.timeout(order.random() * 0.3):
                    return await pool.enter([f"even {one}" for one in range(9)], tier="pro", deadline_s=5).results()
            except TimeoutError:
                return None

        callers = []
        for number in range(3000):
            callers.append(asyncio.create_task(one(number) if number % 5 else several()))
            if number % 20 == 0:
                await asyncio.sleep(0.002)
        answers = await asyncio.gather(*callers, return_exceptions=True)
        assert any(answer is None for answer in answers)
        assert any(isinstance(answer, Embedding) for answer in answers)
        await until(lambda: pool.snapshot().healthy == 3 and not pool._calls)
        assert_nothing_is_left(pool)


async def test_closing_answers_whoever_still_waits() -> None:
    down = device(hangs_at=frozenset({1}))
    async with running(down) as pool:
        waiting = [asyncio.create_task(pool.submit(text, tier="pro", deadline_s=60)) for text in "abc"]
        await asyncio.sleep(0.05)
        await pool.aclose()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(answer, EngineUnavailableError) for answer in answers)
        with pytest.raises(EngineUnavailableError):
            await pool.submit("late", tier="pro", deadline_s=60)


async def test_a_request_that_is_withdrawn_frees_its_places() -> None:
    async with running(device(hangs_at=frozenset({1}))) as pool:
        submission = pool.enter(["a", "b"], tier="pro", deadline_s=60)
        waiting = asyncio.create_task(submission.results())
        await asyncio.sleep(0.05)
        submission.withdraw()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert submission.is_withdrawn
        assert pool.snapshot().cancelled == 2
        assert not pool._open


async def test_a_request_is_queued_as_a_whole_or_not_at_all() -> None:
    async with running(device(), max_waiting=3) as pool:
        with pytest.raises(OverloadedError):
            pool.enter(list("abcde"), tier="pro", deadline_s=60)
        assert sum(pool.snapshot().queued.values()) == 0
        assert not pool._open


async def test_a_loop_that_was_held_up_takes_no_worker_for_lost() -> None:
    """The answers are there, unread, when the watchdog's time is up."""
    devices = [device() for _ in range(4)]
    async with running(*devices, patience=1.5) as pool:
        for _ in range(5):
            asked = asyncio.create_task(ask(pool, *(f"text {number}" for number in range(60))))
            await until(lambda: pool.snapshot().in_flight > 0)
            time.sleep(3 * CALL_S)  # noqa: ASYNC251 - holding up the loop is the point
            assert all(isinstance(answer, Embedding) for answer in await asked)
        assert pool.snapshot().lost_batches == 0
