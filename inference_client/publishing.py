"""Carries the text of one run into Redis while it arrives, from the event loop that receives it."""

from __future__ import annotations

import asyncio
import contextlib
import uuid

import redis
import redis.asyncio

from inference_client.events import STREAM_LENGTH, WHILE_RUNNING_S, Event, events_key, text_key

#: One entry an interval at most; the first piece goes out at once. Each entry costs the worker, Redis, the web process
#: and the reader a millisecond of processor time together, and twelve a second still read as a flow.
COALESCE_S = 0.08
_PAUSE_AFTER_ERROR_S = 0.2
_CLOSE_WITHIN_S = 3.0
_LONGEST_KIND = 64


class TextPublisher:
    """`add` and `begin` take what arrives and never wait; `pump` writes it, batch by batch, until `close`.

    While Redis is away the text waits here. If Redis comes back without the earlier text (it restarted), or with some
    of it twice (an answer to APPEND was lost), its length tells, and the whole text is stated anew with a `reset`.
    """

    def __init__(self, client: redis.asyncio.Redis, run_id: uuid.UUID) -> None:
        self._redis = client
        self._events = events_key(run_id)
        self._text = text_key(run_id)
        self._pieces: list[str] = []
        self._begun: list[str] = []
        self._written = 0  # pieces
        self._characters = 0
        self._bytes = 0
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._given_up = False

    def add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._wake.set()

    def begin(self, kind: str) -> None:
        """A block that is not text begins: whoever waits for text is told what there is in its place."""
        self._begun.append(kind[:_LONGEST_KIND])
        self._wake.set()

    async def pump(self) -> None:
        """Write until `close`. Not to be cancelled: redis-py loses a cancellation that meets it at work."""
        while not self._given_up and not (self._closing.is_set() and self._is_written):
            await self._wake.wait()
            self._wake.clear()
            if await self._flush():
                await self._gather()
            else:
                self._wake.set()
                await asyncio.sleep(_PAUSE_AFTER_ERROR_S)

    async def _gather(self) -> None:
        """Let more text come before the next entry; not when no more will."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(COALESCE_S):
                await self._closing.wait()

    async def close(self, pump: asyncio.Future[None]) -> None:
        """Let `pump` write the rest, for 3 s; what is not in Redis then is still in the run's row."""
        self._closing.set()
        self._wake.set()
        await asyncio.wait({pump}, timeout=_CLOSE_WITHIN_S)
        self._given_up = True

    @property
    def _is_written(self) -> bool:
        return self._written == len(self._pieces) and not self._begun

    async def _flush(self) -> bool:
        """Write the pieces that wait; False if Redis did not take them."""
        upto = len(self._pieces)
        if not await self._tell_begun():
            return False
        if upto == self._written:
            return True
        piece = "".join(self._pieces[self._written : upto])
        try:
            length = await self._append(piece)
            self._written = upto
            self._characters += len(piece)
            self._bytes += len(piece.encode())
            if length != self._bytes:
                await self._restate(upto)
        except (redis.RedisError, OSError):
            return False
        return True

    async def _tell_begun(self) -> bool:
        """Nobody depends on it, so it is not told again where Redis may have taken it or not."""
        begun, self._begun = self._begun, []
        if not begun:
            return True
        pipe = self._redis.pipeline(transaction=True)
        for kind in begun:
            self._record(pipe, Event(kind="block", data={"type": kind}))
        try:
            await pipe.execute()
        except (redis.RedisError, OSError):
            return False
        return True

    async def _append(self, piece: str) -> int:
        """Write one piece; the length in bytes that the text has then in Redis."""
        event = Event(kind="text", data={"offset": self._characters, "text": piece})
        pipe = self._redis.pipeline(transaction=True)
        pipe.append(self._text, piece.encode())
        self._record(pipe, event)
        if not self._written:
            self._let_expire(pipe)
        results = await pipe.execute()
        return int(results[0])

    async def _restate(self, upto: int) -> None:
        """Replace the text in Redis by the whole text. If this fails, the next length tells again."""
        whole = "".join(self._pieces[:upto])
        pipe = self._redis.pipeline(transaction=True)
        pipe.set(self._text, whole.encode())
        self._record(pipe, Event(kind="reset", data={"text": whole}))
        self._let_expire(pipe)
        await pipe.execute()

    def _record(self, pipe: redis.asyncio.client.Pipeline, event: Event) -> None:
        pipe.xadd(self._events, event.fields(), maxlen=STREAM_LENGTH, approximate=True)

    def _let_expire(self, pipe: redis.asyncio.client.Pipeline) -> None:
        """Once is enough: a run ends long before, and its end sets both anew."""
        pipe.expire(self._events, WHILE_RUNNING_S)
        pipe.expire(self._text, WHILE_RUNNING_S)
