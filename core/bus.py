"""The bus between processes: Redis pub/sub in the wire format of `channels_redis.pubsub`, so its sockets receive it.

It may lose what is published, and says nothing of it. From sync code this is a plain PUBLISH of 0.05 ms; the channel
layer's own `group_send` behind `async_to_sync` opens a connection each time and takes a hundred times as long.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Mapping

import redis.asyncio
from channels_redis.serializers import registry
from redis.exceptions import RedisError

from core import metrics
from core.redis import async_client, client

log = logging.getLogger("playground.bus")

Value = str | int | bytes | None
#: The prefix of the channel layer's settings, which are its defaults.
_CHANNEL = "asgi__group__{group}"
_SERIALIZER = registry.get_serializer("msgpack")


def person_group(person: uuid.UUID) -> str:
    """The group of all sockets of one person."""
    return f"person.{person.hex}"


def encode(message: Mapping[str, Value]) -> bytes:
    """`type` names the handler of the consumer that receives it."""
    packed: bytes = _SERIALIZER.serialize(dict(message))
    return packed


def channel_of(group: str) -> str:
    return _CHANNEL.format(group=group)


def publish(group: str, message: Mapping[str, Value]) -> None:
    """Tell the sockets of a group, from sync code. A failure is counted and swallowed: publishing may lose anyway."""
    try:
        client().publish(channel_of(group), encode(message))
    except RedisError:
        metrics.BUS_LOST.inc()


class Publisher:
    """Publishes from an event loop: callers never wait, and nothing they await can lose a cancellation to redis-py.

    One task sends what has gathered in one pipeline, in order. What is beyond `most` while Redis is away is dropped.
    """

    def __init__(self, *, most: int = 10_000) -> None:
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._most = most
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def publish(self, group: str, message: Mapping[str, Value]) -> None:
        if len(self._waiting) >= self._most:
            metrics.BUS_LOST.inc()
            return
        self._waiting.append((channel_of(group), encode(message)))
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        connection = async_client()
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._send_gathered(connection)
        finally:
            await connection.aclose()

    async def _send_gathered(self, connection: redis.asyncio.Redis) -> None:
        batch = list(self._waiting)
        self._waiting.clear()
        try:
            async with asyncio.timeout(5):
                if len(batch) == 1:
                    await connection.publish(*batch[0])
                    return
                pipeline = connection.pipeline(transaction=False)
                for channel, payload in batch:
                    pipeline.publish(channel, payload)
                await pipeline.execute()
        except (RedisError, OSError, TimeoutError) as error:
            metrics.BUS_LOST.inc(len(batch))
            log.warning("bus does not answer", extra={"lost": len(batch), "error": type(error).__name__})

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=2)
            self._task = None
