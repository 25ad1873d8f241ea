"""The server-sent events of a run: frames, keep-alives, and a bound on how many one account holds open."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncGenerator

import redis
from django.db import InterfaceError, OperationalError

from core.errors import RateLimited
from core.ids import new_id
from inference_client.events import Event, hasty_client
from inference_client.following import Follower, in_readers_thread
from inference_client.guarding import guard
from inference_client.models import Run

MOST_STREAMS = 20
KEEP_ALIVE_S = 12.0
SHORTEST_PAUSE_S = 0.5
#: A stream whose process died is forgotten after this long.
SLOT_S = 30


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
    key = _slots_key(run.account_id)
    clock = asyncio.get_running_loop().time
    follower = Follower(run, last_event_id)
    pause_at = clock() + _pause_s()
    try:
        while (told := await follower.next(max(0.0, pause_at - clock()))) is not None:
            is_due = clock() >= pause_at
            if (is_due or (told and not guard().still(run.pk))) and not await _may_go_on(run):
                yield ENDED
                return
            if is_due:
                pause_at = clock() + _pause_s()
                await in_readers_thread(_keep_slot, key, slot)
            if told:
                yield b"".join(frame(*each) for each in told)
            if is_due:
                yield KEEP_ALIVE
    finally:
        follower.close()
        await in_readers_thread(_leave_slot, key, slot)


def _pause_s() -> float:
    """How long a stream goes on until it is asked about by the clock, however much it tells."""
    return max(SHORTEST_PAUSE_S, min(guard().recheck_s(), KEEP_ALIVE_S))


async def _may_go_on(run: Run) -> bool:
    """Asked before each frame whose last answer is too old, and of a quiet stream by the clock."""
    try:
        return await in_readers_thread(guard().ask, run.pk, run.account_id)
    except (OperationalError, InterfaceError):
        return False


def _slots_key(account_id: uuid.UUID) -> str:
    return f"run-streams:{account_id}"


def _keep_slot(key: str, slot: str) -> None:
    pipe = hasty_client().pipeline(transaction=True)
    pipe.zadd(key, {slot: time.time() + SLOT_S})
    pipe.expire(key, SLOT_S)
    with contextlib.suppress(redis.RedisError):
        pipe.execute()


def _leave_slot(key: str, slot: str) -> None:
    with contextlib.suppress(redis.RedisError):
        hasty_client().zrem(key, slot)
