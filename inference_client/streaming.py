"""The server-sent events of a run: frames, keep-alives, and a bound on how many one account holds open."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

import redis
import redis.asyncio
from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, connections

from core.errors import RateLimited
from core.ids import new_id
from core.redis import async_client
from inference_client.events import Event, hasty_client
from inference_client.following import Follower, Told, in_readers_thread
from inference_client.guarding import guard
from inference_client.models import Run

MOST_STREAMS = 20
KEEP_ALIVE_S = 12.0
SHORTEST_PAUSE_S = 0.5
#: A stream whose process died is forgotten after this long.
SLOT_S = 30

Item = TypeVar("Item")


def frame(event_id: str | None, event: Event) -> bytes:
    """One event on the wire. JSON in ASCII: no text can break the framing."""
    head = f"id: {event_id}\n" if event_id else ""
    return f"{head}event: {event.kind}\ndata: {json.dumps(event.data, separators=(',', ':'))}\n\n".encode()


KEEP_ALIVE = b": keep-alive\n\n"
#: The reader may not see the run any more, and is not to come back.
ENDED = b'event: ended\ndata: {"code":4403}\n\n'


def take_slot(account_id: uuid.UUID) -> str:
    """Room for one more stream of this account. Raises RateLimited; while Redis is away nothing is counted."""
    slot, key, now = str(new_id()), _slots_key(account_id), time.time()
    pipe = hasty_client().pipeline(transaction=True)
    pipe.zremrangebyscore(key, "-inf", now)
    pipe.zadd(key, {slot: now + SLOT_S})
    pipe.expire(key, SLOT_S)
    pipe.zrank(key, slot)
    try:
        if pipe.execute()[-1] < MOST_STREAMS:
            return slot
        hasty_client().zrem(key, slot)
    except redis.RedisError:
        return slot
    raise RateLimited(
        f"{MOST_STREAMS} event streams are open already.",
        next_step="Close a page that follows a run, or ask for the run itself.",
        retry_after_s=5,
    )


async def stream_events(run: Run, *, last_event_id: str | None, slot: str) -> AsyncGenerator[bytes]:
    """The frames of a run from `last_event_id` on, until it is done or the reader leaves."""
    # A stream may last for minutes, and the request's thread would keep its database connection for as long.
    await sync_to_async(connections.close_all)()
    client = async_client()
    key = _slots_key(run.account_id)
    try:
        told = Follower(client, run, last_event_id).events()
        async for item in _with_pauses(told, guard().recheck_s):
            if (item is None or not guard().still(run.pk)) and not await _may_go_on(run):
                yield ENDED
                return
            if item is None:
                await _apart(_keep_slot(client, key, slot))
            yield frame(*item) if item is not None else KEEP_ALIVE
    finally:
        await _apart(_leave_slot(client, key, slot))


async def _may_go_on(run: Run) -> bool:
    """Asked before each frame whose last answer is too old, and of a quiet stream by the clock."""
    try:
        return await in_readers_thread(guard().ask, run.pk, run.account_id)
    except (OperationalError, InterfaceError):
        return False


async def _with_pauses(items: AsyncIterator[Told], pause_s: Callable[[], float]) -> AsyncIterator[Told | None]:
    """The items, and None after each `pause_s()` seconds, KEEP_ALIVE_S at most, however many items there are."""
    clock = asyncio.get_running_loop().time
    pause_at = clock() + max(SHORTEST_PAUSE_S, min(pause_s(), KEEP_ALIVE_S))
    pending = asyncio.ensure_future(_next_or_end(items))
    try:
        while True:
            await asyncio.wait({pending}, timeout=max(0.0, pause_at - clock()))
            if clock() >= pause_at:
                pause_at = clock() + max(SHORTEST_PAUSE_S, min(pause_s(), KEEP_ALIVE_S))
                yield None
            if pending.done():
                item = pending.result()
                if item is None:
                    return
                yield item
                pending = asyncio.ensure_future(_next_or_end(items))
    finally:
        pending.cancel()
        await asyncio.wait({pending})


async def _next_or_end(items: AsyncIterator[Item]) -> Item | None:
    return await anext(items, None)


def _slots_key(account_id: uuid.UUID) -> str:
    return f"run-streams:{account_id}"


async def _keep_slot(client: redis.asyncio.Redis, key: str, slot: str) -> None:
    try:
        async with client.pipeline(transaction=True) as pipe:
            pipe.zadd(key, {slot: time.time() + SLOT_S})
            pipe.expire(key, SLOT_S)
            await pipe.execute()
    except (redis.RedisError, OSError):
        return


async def _leave_slot(client: redis.asyncio.Redis, key: str, slot: str) -> None:
    try:
        await client.zrem(key, slot)
    except (redis.RedisError, OSError):
        return
    finally:
        await client.aclose()


async def _apart(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` in a task of its own: redis-py loses a cancellation, and then the reader would never be gone."""
    await asyncio.wait({asyncio.ensure_future(work)})
