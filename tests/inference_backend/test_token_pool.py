"""The pool in front of token engines on a real event loop: however a request ends, its place is free again."""

import asyncio
import random
import time
from contextlib import AsyncExitStack

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from inference_backend.errors import (
    CapacityStartingError,
    DeadlineExceededError,
    EngineUnavailableError,
    OverloadedError,
)
from inference_backend.pools.token_metrics import TokenMetrics
from inference_backend.pools.token_pool import Lease, TokenPool
from inference_backend.scheduling.work import Work
from inference_backend.tiers import TIERS, Tier


def work(name: object, *, tier: Tier = "internal", patience: float = 30.0, prompt_tokens: int = 10) -> Work:
    now = time.monotonic()
    return Work(
        id=str(name),
        tier=tier,
        key="account",
        prompt_tokens=prompt_tokens,
        max_tokens=20,
        deadline=now + patience,
        arrived_at=now,
    )


def pool_with(slots: int = 1, *, kv_tokens: int | None = None, replicas: int = 1) -> TokenPool:
    pool = TokenPool("model")
    for number in range(replicas):
        pool.replica_ready(f"gpu-{number}", slots=slots, kv_tokens=kv_tokens)
    return pool


def assert_idle(pool: TokenPool) -> None:
    state = pool.snapshot()
    assert sum(state.waiting.values()) == state.running == 0
    assert all((use.running, use.kv_used, use.prefill_tokens) == (0, 0, 0) for use in state.replicas)
    assert pool.held == 0


async def hold(pool: TokenPool, name: object, **options: object) -> None:
    async with pool.lease(work(name, **options)):  # type: ignore[arg-type]
        await asyncio.Event().wait()


async def granted(pool: TokenPool) -> None:
    """Until something runs; what was granted has not run since."""
    for _ in range(100):
        if pool.snapshot().running:
            return
        await asyncio.sleep(0)
    raise AssertionError("nothing was granted")


async def test_a_place_is_given_to_the_next_as_soon_as_the_engine_is_done() -> None:
    pool = pool_with()
    order: list[str] = []

    async def ask(name: str, lease_held: asyncio.Event) -> None:
        async with pool.lease(work(name)) as lease:
            order.append(f"{name} on {lease.replica}")
            lease.first_token()
            lease.finished(5)
            await lease_held.wait()

    slow_reader = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(ask("a", slow_reader))
        group.create_task(ask("b", slow_reader))
        await asyncio.sleep(0.01)
        assert order == ["a on gpu-0", "b on gpu-0"]
        slow_reader.set()
    assert_idle(pool)


async def test_leaving_while_waiting_gives_the_turn_to_the_next() -> None:
    pool = pool_with()
    async with pool.lease(work("first")):
        waiting = asyncio.create_task(hold(pool, "leaves"))
        next_one = asyncio.create_task(hold(pool, "next"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert pool.snapshot().waiting["internal"] == 1
    await granted(pool)
    next_one.cancel()
    await asyncio.gather(next_one, return_exceptions=True)
    assert_idle(pool)


async def test_leaving_between_the_grant_and_the_first_use_gives_the_place_back() -> None:
    pool = pool_with()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(pool.lease(work("first")))
        waiting = asyncio.create_task(hold(pool, "granted and gone"))
        await asyncio.sleep(0)
    await granted(pool)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert_idle(pool)


async def test_what_comes_together_starts_together() -> None:
    pool = pool_with(slots=8)
    started: list[tuple[int, int]] = []

    async def ask(number: int) -> None:
        for _ in range(number % 4):
            await asyncio.sleep(0)  # reading the request takes its turns, too
        async with pool.lease(work(number)):
            state = pool.snapshot()
            started.append((state.running, state.waiting["internal"]))
            await asyncio.sleep(0.02)

    await asyncio.gather(*(ask(number) for number in range(8)))
    assert started == [(8, 0)] * 8
    assert_idle(pool)


async def test_places_that_fall_free_together_are_given_together() -> None:
    pool = pool_with(slots=4)
    seen: list[int] = []

    async def first(stack: AsyncExitStack, number: int) -> Lease:
        return await stack.enter_async_context(pool.lease(work(f"first {number}")))

    async def second(number: int) -> None:
        async with pool.lease(work(f"second {number}")):
            seen.append(pool.snapshot().running)
            await asyncio.sleep(0.02)

    async with AsyncExitStack() as stack:
        leases = await asyncio.gather(*(first(stack, number) for number in range(4)))
        waiting = [asyncio.create_task(second(number)) for number in range(4)]
        await asyncio.sleep(0.02)
        for lease in leases:
            lease.finished(5)
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
    assert seen == [4] * 4
    assert_idle(pool)


async def test_a_deadline_that_passes_in_the_queue_ends_the_wait() -> None:
    pool = pool_with()
    async with pool.lease(work("first")):
        with pytest.raises(DeadlineExceededError):
            await hold(pool, "late", patience=0.1)
    assert_idle(pool)


async def test_without_replicas_nobody_waits() -> None:
    pool = TokenPool("model")
    with pytest.raises(EngineUnavailableError):
        await hold(pool, "a")
    pool.starting(240.0)
    with pytest.raises(CapacityStartingError) as refusal:
        await hold(pool, "b")
    assert refusal.value.retry_after_s
    assert pool.capacity_starting() == pytest.approx(240, abs=5)
    pool.replica_ready("gpu-0", slots=1)
    pool.starting(None)
    assert pool.capacity_starting() is None
    async with pool.lease(work("c")):
        pass
    assert_idle(pool)


async def test_a_draining_replica_ends_what_it_has_and_takes_nothing_new() -> None:
    pool = pool_with(slots=4)
    async with pool.lease(work("old")) as lease:
        pool.replica_draining("gpu-0")
        pool.replica_ready("gpu-1", slots=1)
        async with pool.lease(work("new")) as other:
            assert (lease.replica, other.replica) == ("gpu-0", "gpu-1")
        assert pool.running_on("gpu-0") == 1
    assert pool.running_on("gpu-0") == 0
    pool.replica_gone("gpu-0")
    pool.replica_ready("gpu-1", slots=2)
    assert [(use.name, use.slots) for use in pool.snapshot().replicas] == [("gpu-1", 2)]
    assert_idle(pool)


async def test_holders_learn_that_their_replica_is_gone_and_what_waits_goes_elsewhere() -> None:
    pool = pool_with(replicas=2)
    async with pool.lease(work("a")) as first, pool.lease(work("b")) as second:
        third = asyncio.create_task(hold(pool, "c"))
        await asyncio.sleep(0)
        pool.replica_gone(first.replica)
        assert first.lost.is_set()
        assert not second.lost.is_set()
        pool.replica_ready(first.replica, slots=1)
        await asyncio.sleep(0)
        assert pool.running_on(first.replica) == 1
        first.finished(3)
        assert pool.running_on(first.replica) == 1, "the end of lost work frees nothing on the replica that came back"
    third.cancel()
    await asyncio.gather(third, return_exceptions=True)
    assert_idle(pool)


async def test_too_much_free_work_is_refused_while_those_who_pay_are_let_in() -> None:
    pool = pool_with(slots=2)
    tasks = [asyncio.create_task(hold(pool, f"free {number}", tier="free")) for number in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    refused = [task for task in tasks if task.done()]
    assert all(isinstance(task.exception(), OverloadedError) for task in refused)
    assert 0 < len(refused) < 100
    paying = asyncio.create_task(hold(pool, "pro", tier="pro"))
    await asyncio.sleep(0)
    assert not paying.done()
    for task in (*tasks, paying):
        task.cancel()
    await asyncio.gather(*tasks, paying, return_exceptions=True)
    assert_idle(pool)


async def answer(pool: TokenPool, request: Work, numbers: random.Random) -> None:
    async with pool.lease(request) as lease:
        await pause(numbers)
        lease.first_token()
        await pause(numbers)
        if numbers.random() < 0.2:
            raise ConnectionError
        lease.finished(numbers.randrange(20))
        await pause(numbers)


async def pause(numbers: random.Random) -> None:
    for _ in range(numbers.randrange(4)):
        await asyncio.sleep(0)
    if numbers.random() < 0.1:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("seed", range(3))
async def test_thousands_who_leave_at_any_moment_leave_nothing_behind(seed: int) -> None:
    numbers = random.Random(seed)
    pool = pool_with(slots=4, kv_tokens=300, replicas=3)
    tasks: list[asyncio.Task[None]] = []
    for number in range(3000):
        patience = numbers.choice([0.0, 0.005, 30.0])
        request = work(
            number, tier=numbers.choice(TIERS), patience=patience, prompt_tokens=numbers.choice([10, 50, 400])
        )
        tasks.append(asyncio.create_task(answer(pool, request, numbers)))
        if numbers.random() < 0.5:
            numbers.choice(tasks[-20:]).cancel()
        if numbers.random() < 0.02:
            name = f"gpu-{numbers.randrange(3)}"
            numbers.choice([pool.replica_gone, pool.replica_draining])(name)
            pool.replica_ready(name, slots=4, kv_tokens=300)
        if numbers.random() < 0.3:
            await asyncio.sleep(0)
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    kinds = {type(end) for end in ends}
    assert kinds <= {type(None), asyncio.CancelledError, ConnectionError, DeadlineExceededError, OverloadedError}
    assert {type(None), asyncio.CancelledError, DeadlineExceededError} <= kinds
    assert_idle(pool)
    async with pool.lease(work("afterwards")):
        assert pool.snapshot().running == 1
    assert_idle(pool)


async def test_what_happens_is_counted() -> None:
    registry = CollectorRegistry()
    metrics = TokenMetrics(registry)
    pool = TokenPool("model", observer=metrics.observer("model"))
    pool.replica_ready("gpu-0", slots=1, kv_tokens=100)
    leases: list[Lease] = []
    async with pool.lease(work("a", tier="pro")) as lease:
        leases.append(lease)
        with pytest.raises(DeadlineExceededError):
            await hold(pool, "late", tier="free", patience=0.05)
        metrics.forget()
        metrics.show("model", pool)
    shown = generate_latest(registry).decode()
    for line in (
        'inference_queue_seconds_count{model="model",tier="pro"} 1.0',
        'inference_shed_total{model="model",reason="deadline",tier="free"} 1.0',
        'inference_slots{model="model",replica="gpu-0",state="taken"} 1.0',
        'inference_kv_used_ratio{model="model",replica="gpu-0"} 0.3',
        'inference_queue_waiting{model="model",tier="free"} 0.0',
        'inference_prefill_tokens{model="model",replica="gpu-0"} 10.0',
    ):
        assert line in shown
    assert leases[0].replica == "gpu-0"
