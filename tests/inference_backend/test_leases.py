"""Requests at the same time, of one account, over several processes."""

import asyncio
import secrets
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_backend.errors import RateLimitedError
from inference_backend.limits.leases import DECLARE, LEASE_S, Leases
from inference_backend.store import SharedStore
from tests.waiting import PATIENCE_S


@pytest.fixture
def account() -> str:
    return secrets.token_hex(8)


async def acquire(leases: Leases, account: str, limit: int) -> None:
    await leases.acquire(account, limit=limit, without_store="local")


async def acquire_soon(leases: Leases, account: str, limit: int) -> None:
    """A place that another process gives up is free as soon as the store knows."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await acquire(leases, account, limit)
            except RateLimitedError:
                await asyncio.sleep(0.01)


async def test_two_processes_share_the_places_of_an_account(store: SharedStore, account: str) -> None:
    one, two = Leases(store, process="one"), Leases(store, process="two")
    await acquire(one, account, 2)
    await acquire(two, account, 2)
    for process in (one, two):
        with pytest.raises(RateLimitedError) as caught:
            await acquire(process, account, 2)
        assert caught.value.limit == "concurrency"
    one.release(account)
    await acquire_soon(two, account, 2)


async def test_twenty_requests_one_after_the_other_pass_a_limit_of_two(store: SharedStore, account: str) -> None:
    leases = Leases(store, process="one")
    for _ in range(20):
        await acquire(leases, account, 2)
        leases.release(account)
    assert leases.in_use(account) == 0


@pytest.mark.parametrize("limit", [3, 200])
async def test_of_a_crowd_as_many_pass_as_the_limit_says(store: SharedStore, account: str, limit: int) -> None:
    leases = Leases(store, process="one")
    outcomes = await asyncio.gather(
        *(acquire(leases, account, limit) for _ in range(limit + 50)), return_exceptions=True
    )
    assert outcomes.count(None) == limit
    assert leases.in_use(account) == limit


async def test_places_of_a_killed_process_are_free_after_the_expiry(store: SharedStore, account: str) -> None:
    declare = store.script(DECLARE)
    key, expiry = f"limits:leases:{account}", int(LEASE_S * 1000)
    assert await declare.run(keys=[key], args=["killed", 2, 2, expiry, 1_000]) == [2]
    assert await declare.run(keys=[key], args=["alive", 1, 2, expiry, 1_000 + expiry - 1]) == [0]
    assert await declare.run(keys=[key], args=["alive", 1, 2, expiry, 1_000 + expiry]) == [1]


async def test_renewing_keeps_places(store: SharedStore, account: str) -> None:
    one, two = Leases(store, process="one"), Leases(store, process="two")
    await acquire(one, account, 1)
    await store.script("return {redis.call('DEL', KEYS[1])}").run(keys=[f"limits:leases:{account}"], args=[])
    await one.renew()
    with pytest.raises(RateLimitedError):
        await acquire(two, account, 1)


async def test_a_process_that_ends_gives_its_places_up(store: SharedStore, account: str) -> None:
    one, two = Leases(store, process="one"), Leases(store, process="two")
    await acquire(one, account, 1)
    await one.aclose()
    await acquire(two, account, 1)


@pytest.mark.parametrize("limit", [2, 640])
async def test_an_idle_process_keeps_nothing_of_an_account(store: SharedStore, account: str, limit: int) -> None:
    one, two = Leases(store, process="one"), Leases(store, process="two")
    await acquire(one, account, limit)
    one.release(account)
    await one.renew()
    for _ in range(limit):
        await acquire(two, account, limit)


async def test_a_busy_account_with_a_large_limit_needs_few_calls_of_the_store(
    store: SharedStore, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases, calls, run = Leases(store, process="one"), 0, store.run

    async def count(*args: Any) -> list[Any]:
        nonlocal calls
        calls += 1
        return await run(*args)

    monkeypatch.setattr(store, "run", count)
    for _ in range(200):
        await acquire(leases, account, 640)
        leases.release(account)
    assert calls < 10


async def test_a_caller_who_leaves_while_waiting_keeps_no_place(store: SharedStore, account: str) -> None:
    leases = Leases(store, process="one")
    waiting = [asyncio.ensure_future(acquire(leases, account, 4)) for _ in range(4)]
    await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for _ in range(4):
        await acquire_soon(leases, account, 4)


@given(steps=st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=60), limit=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_processes_together_never_hold_more_than_the_limit(
    redis_url: str, steps: list[tuple[int, bool]], limit: int
) -> None:
    async def run() -> None:
        store, account = SharedStore(redis_url), secrets.token_hex(8)
        processes = [Leases(store, process=str(number)) for number in range(3)]
        held = [0, 0, 0]
        for index, takes in steps:
            if takes:
                try:
                    await acquire(processes[index], account, limit)
                    held[index] += 1
                except RateLimitedError:
                    assert sum(held) > 0
            elif held[index]:
                held[index] -= 1
                processes[index].release(account)
            assert sum(held) <= limit
        for process in processes:
            await process.aclose()
        await store.aclose()

    asyncio.run(run())
