"""A stream of server-sent events to one caller, which is never silent for long."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.types import Message, Send

from inference_backend.connection import response_head
from inference_backend.dialect.answers import PING

# An overload that shows within this time is a real 529, which clients retry; after it the caller has a 200.
HOLD_S = 1.0
# Load balancers cut streams that are silent for a minute.
PING_S = 5.0


class EventStream:
    """`head` and `start` are asked for when the stream opens: with the first frames, or after HOLD_S of waiting."""

    def __init__(self, send: Send, *, head: Callable[[], dict[str, str]], start: Callable[[], bytes]) -> None:
        self._send = send
        self._head = head
        self._start = start
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._quiet_until = self._loop.time() + HOLD_S
        self.is_open = False

    async def write(self, frames: bytes) -> None:
        """Frames that a caller sees something of; the next ping can wait."""
        self._quiet_until = self._loop.time() + PING_S
        async with self._turn:
            await self._write(frames)

    @asynccontextmanager
    async def kept_alive(self) -> AsyncIterator[None]:
        """Pings whenever nothing was written for PING_S. Raises what the body raises, or what ended the pings."""
        try:
            async with asyncio.TaskGroup() as beside:
                pings = beside.create_task(self._ping())
                yield
                pings.cancel()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group.exceptions[0].__cause__

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(max(0.0, self._quiet_until - self._loop.time()))
            if self._loop.time() >= self._quiet_until:
                await self.write(PING)

    async def _write(self, frames: bytes) -> None:
        if not self.is_open:
            self.is_open = True
            await self._send(_stream_head(self._head()))
            frames = self._start() + frames
        await self._send(part(frames))


def part(frames: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.response.body", "body": frames, "more_body": not is_last}


def _stream_head(headers: dict[str, str]) -> Message:
    return response_head(
        200,
        {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            # Otherwise nginx collects the stream and delivers it at the end.
            "x-accel-buffering": "no",
            **headers,
        },
    )
