"""Who is here: a key that expires by itself, so that a killed process cannot keep anybody online.

`presence:<account>` holds the generation of the device and lives until 60 s after that device was last heard. Nobody
is told of a change: who looks at a conversation asks, for the people on the screen only. Sync, for threads.
"""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.redis import client

TTL_S = 60.0
GRACE_S = 10.0
#: Account -> when it was last heard (Unix seconds); what `chat.services.last_seen` has yet to write down.
DIRTY = "chat:seen"

#: Only the value that is still ours: the late close of an old page must not mark the new one as gone.
_LEAVE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Here:
    """A device that was heard `silent_s` ago."""

    person: uuid.UUID
    gen: int
    silent_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Presence:
    online: bool
    last_seen: dt.datetime | None


def refresh(devices: Sequence[Here]) -> None:
    """Say of many devices at once that they are here, each until TTL_S after it was last heard."""
    now = time.time()
    pipeline = client().pipeline(transaction=False)
    for device in devices:
        left_ms = int((TTL_S - device.silent_s) * 1000)
        if left_ms > 0:
            pipeline.set(key_of(device.person), device.gen, px=left_ms)
            pipeline.zadd(DIRTY, {str(device.person): now - device.silent_s}, gt=True)
    pipeline.execute()


def leave(*, person: uuid.UUID, gen: int) -> None:
    """A clean goodbye: offline in GRACE_S (a reload comes back before that), unless another device took over."""
    client().eval(_LEAVE, 1, key_of(person), str(gen), str(int(GRACE_S * 1000)))


def read(people: Sequence[uuid.UUID]) -> dict[uuid.UUID, Presence]:
    """Who of them is here; for the others, when they were last heard as far as Redis still knows."""
    if not people:
        return {}
    pipeline = client().pipeline(transaction=False)
    pipeline.mget([key_of(person) for person in people])
    pipeline.zmscore(DIRTY, [str(person) for person in people])
    online, seen = cast("tuple[list[Any], list[Any]]", tuple(pipeline.execute()))
    return {
        person: Presence(
            online=here is not None, last_seen=dt.datetime.fromtimestamp(at, dt.UTC) if at is not None else None
        )
        for person, here, at in zip(people, online, seen, strict=True)
    }


def key_of(person: uuid.UUID) -> str:
    return f"presence:{person}"
