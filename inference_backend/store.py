"""What the processes of the service share: atomic steps, as scripts, in Redis or Valkey."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, cast

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from inference_backend.errors import StoreDownError

TIMEOUT_S = 1.0
CONNECTIONS = 32
#: After a failure, callers are refused without trying: with a store that swallows packets each would wait TIMEOUT_S.
REST_S = 0.5

Answer = TypeVar("Answer")

_underway: set[asyncio.Task[Any]] = set()


class Script:
    """One Lua script. Keys and arguments in, a list of bytes and whole numbers out."""

    def __init__(self, store: "SharedStore", source: str) -> None:
        self._store = store
        self._source = source

    async def run(self, *, keys: Sequence[str], args: Sequence[bytes | str | int | float]) -> list[Any]:
        """Raises StoreDownError. May be cancelled; what it does in the store then happens all the same."""
        return await self._store.run(self._source, keys, args)


class SharedStore:
    def __init__(self, url: str) -> None:
        self._pool = redis.asyncio.ConnectionPool.from_url(
            url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            # A step whose answer came too late has happened: a second time it would take twice.
            retry=Retry(NoBackoff(), 0),
        )
        self._client: redis.asyncio.Redis = redis.asyncio.Redis(connection_pool=self._pool)
        self._scripts: dict[str, Any] = {}
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._down_until = float("-inf")

    def script(self, source: str) -> Script:
        self._scripts[source] = self._client.register_script(source)
        return Script(self, source)

    async def run(self, source: str, keys: Sequence[str], args: Sequence[bytes | str | int | float]) -> list[Any]:
        """Raises StoreDownError."""
        self._check()
        return cast("list[Any]", await apart(self._call(source, keys, args)))

    async def _call(self, source: str, keys: Sequence[str], args: Sequence[bytes | str | int | float]) -> Any:
        async with self._turns:
            # Of a crowd that waited for its turn only the first learns by itself that the store is gone.
            self._check()
            try:
                return await self._scripts[source](keys=keys, args=args)
            except (RedisError, OSError, TimeoutError) as error:
                self._down_until = time.monotonic() + REST_S
                raise StoreDownError from error

    @property
    def is_resting(self) -> bool:
        """A step has failed less than REST_S ago."""
        return time.monotonic() < self._down_until

    def _check(self) -> None:
        if self.is_resting:
            raise StoreDownError

    async def aclose(self) -> None:
        await self._client.aclose()
        await self._pool.aclose()


async def apart(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Do `work` in a task of its own, which goes on if the caller is cancelled.

    redis-py loses a cancellation that meets it while it reads, and a step whose answer nobody reads leaves the
    connection with an answer too many.
    """
    task = asyncio.ensure_future(work)
    # The loop itself holds tasks weakly.
    _underway.add(task)
    task.add_done_callback(_forget)
    await asyncio.wait({task})
    return task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    _underway.discard(task)
    if not task.cancelled():
        # Looked at, or asyncio reports the failure of a step whose caller has left as one that nobody handled.
        task.exception()
