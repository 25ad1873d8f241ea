"""Many short waits under one timer."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from inference_backend.recurring_timeout import RecurringTimeout

LONG_S = 60.0
SHORT_S = 0.02


@pytest.fixture
def limit() -> Iterator[RecurringTimeout]:
    made = RecurringTimeout()
    with contextlib.closing(made):
        yield made


def soon(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def test_a_wait_that_takes_too_long_raises(limit: RecurringTimeout) -> None:
    with pytest.raises(TimeoutError), limit.until(soon(SHORT_S)):
        await asyncio.Event().wait()


async def test_after_a_wait_that_was_too_long_the_task_is_not_cancelled_and_may_wait_again(
    limit: RecurringTimeout,
) -> None:
    for _ in range(3):
        with contextlib.suppress(TimeoutError), limit.until(soon(SHORT_S)):
            await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    with limit.until(soon(LONG_S)):
        await asyncio.sleep(0)


async def test_each_wait_has_its_own_time_although_one_timer_serves_all(limit: RecurringTimeout) -> None:
    """Together they take many times what each may."""
    for _ in range(40):
        with limit.until(soon(0.5)):
            await asyncio.sleep(0.02)


async def test_a_later_wait_may_have_to_end_before_an_earlier_one_would_have(limit: RecurringTimeout) -> None:
    with limit.until(soon(LONG_S)):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError), limit.until(soon(SHORT_S)):
        await asyncio.Event().wait()


async def test_time_between_two_waits_does_not_count(limit: RecurringTimeout) -> None:
    with limit.until(soon(SHORT_S)):
        await asyncio.sleep(0)
    await asyncio.sleep(3 * SHORT_S)
    with limit.until(soon(LONG_S)):
        await asyncio.sleep(SHORT_S)


async def test_a_cancellation_from_outside_stays_one(limit: RecurringTimeout) -> None:
    async def wait() -> None:
        with limit.until(soon(LONG_S)):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_both_at_once_is_a_cancellation(limit: RecurringTimeout) -> None:
    async def wait() -> None:
        with limit.until(soon(LONG_S)):
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    limit.expire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_another_task_may_take_the_next_wait(limit: RecurringTimeout) -> None:
    async def wait() -> None:
        with limit.until(soon(SHORT_S)):
            await asyncio.Event().wait()

    with limit.until(soon(LONG_S)):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await asyncio.create_task(wait())


async def test_ending_the_present_wait_by_hand(limit: RecurringTimeout) -> None:
    asyncio.get_running_loop().call_soon(limit.expire)
    with pytest.raises(TimeoutError), limit.until(soon(LONG_S)):
        await asyncio.Event().wait()


async def test_ending_it_while_nobody_waits_changes_nothing(limit: RecurringTimeout) -> None:
    limit.expire()
    with limit.until(soon(LONG_S)):
        await asyncio.sleep(0)
