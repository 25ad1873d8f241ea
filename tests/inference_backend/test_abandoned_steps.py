"""Steps in the shared store whose caller has left meanwhile."""

import asyncio
import gc
from typing import Any

import pytest

from inference_backend.errors import StoreDownError
from inference_backend.store import SharedStore, apart


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A store that thinks for a while and is gone."""
    await reader.read(65536)
    await asyncio.sleep(0.3)
    writer.close()


async def test_a_step_that_fails_after_its_caller_left_is_no_unhandled_failure() -> None:
    loop, reported = asyncio.get_running_loop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        store = SharedStore(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        caller = asyncio.create_task(store.script("return {1}").run(keys=[], args=[]))
        await asyncio.sleep(0.1)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        async with asyncio.timeout(30):
            # From when on the step has failed, callers are refused without trying.
            while not store.is_resting:  # noqa: ASYNC110 - the store has no event for it
                await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        gc.collect()
        await store.aclose()
    assert reported == []


async def test_whoever_waits_for_a_step_hears_of_its_failure() -> None:
    async def fail() -> None:
        raise StoreDownError

    with pytest.raises(StoreDownError):
        await apart(fail())


async def test_a_step_goes_on_when_its_caller_leaves() -> None:
    done = asyncio.Event()

    async def step() -> None:
        await asyncio.sleep(0.05)
        done.set()

    caller = asyncio.create_task(apart(step()))
    await asyncio.sleep(0)
    caller.cancel()
    async with asyncio.timeout(30):
        await done.wait()
