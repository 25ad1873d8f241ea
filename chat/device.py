"""One open socket: what its client says is answered in order, and what it must learn goes out in order.

Two tasks a device. The reader works through the client's frames one by one; the pump alone writes to the socket. So a
slow statement delays this client's answers but no event, and a slow client delays nobody but itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError

from chat import protocol
from chat.drain import Delivery
from chat.protocol import Close
from core import metrics
from core.errors import DomainError, Unavailable

if TYPE_CHECKING:
    from chat.hub import Hub

log = logging.getLogger("playground.chat")

MAX_INCOMING = 64
MAX_ANSWERS = 256
SEND_WITHIN_S = 10.0
RETRY_S = 0.5

#: The database or Redis does not answer: the same frame may work in a moment.
AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    OperationalError,
    InterfaceError,
    PoolTimeout,
    RedisError,
    TimeoutError,
    OSError,
)


class Device:
    """`send` writes one text frame, `close` ends the socket with a code; both belong to the consumer."""

    def __init__(
        self,
        *,
        hub: Hub,
        person: uuid.UUID,
        session_key: str,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Awaitable[None]],
    ) -> None:
        self.hub = hub
        self.person = person
        self.session_key = session_key
        self.gen = 0
        self.delivery: Delivery | None = None
        self.typed_at = 0.0
        self.opened_at = self.heard_at = self.checked_at = time.monotonic()
        self.probed = False
        self._send = send
        self._close = close
        self._incoming: asyncio.Queue[str] = asyncio.Queue(MAX_INCOMING)
        self._answers: deque[str] = deque()
        self._wake = asyncio.Event()
        self._ending: Close | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._pump())]

    def stop(self) -> None:
        """The socket is gone. Never waits."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        self.hub.remove(self)

    @property
    def greeted(self) -> bool:
        return self.delivery is not None

    def receive(self, text: str) -> None:
        """A frame from the client. Who sends faster than is answered is cut off: the rate limit lies far below."""
        self.heard_at = time.monotonic()
        self.probed = False
        try:
            self._incoming.put_nowait(text)
        except asyncio.QueueFull:
            self.end(Close.SLOW)

    def offer(self, seq: int, frame: str) -> None:
        """An event of the bus."""
        if self.delivery is not None:
            self.delivery.offer(seq, frame)
            self._wake.set()

    def notice(self, last: int) -> None:
        """The mailbox is at `last`, says the database."""
        if self.delivery is not None and self.delivery.notice(last):
            metrics.CHAT_DRAINS.labels("position").inc()
            self._wake.set()

    def replaced_by(self, gen: int) -> None:
        if self.greeted and gen > self.gen:
            self.tell({"type": "replaced", "gen": gen})
            self.end(Close.REPLACED)

    def tell(self, frame: Mapping[str, Any]) -> None:
        self.forward(protocol.dump(frame))

    def forward(self, frame: str) -> None:
        """A frame that is no event: the answer to one, or a hint that may be lost."""
        if len(self._answers) >= MAX_ANSWERS:
            self.end(Close.SLOW)
            return
        self._answers.append(frame)
        self._wake.set()

    def wake(self) -> None:
        self._wake.set()

    def end(self, code: Close) -> None:
        """Close after what has been answered already went out. The first reason counts."""
        if self._ending is None:
            self._ending = code
            metrics.CHAT_CLOSED.labels(str(code.value)).inc()
            self.hub.remove(self)
            self._wake.set()

    async def _read(self) -> None:
        while self._ending is None:
            text = await self._incoming.get()
            about: str | None = None
            try:
                frame = protocol.parse(text)
                about = str(frame.id) if isinstance(frame, protocol.Send | protocol.Edit | protocol.Delete) else None
                await self.hub.conversing.answer(self, frame)
            except protocol.BadFrame as error:
                self._refuse(error, error.about)
            except DomainError as error:
                self._refuse(error, about)
            except AWAY as error:
                log.warning("chat frame not answered", extra={"error": type(error).__name__})
                self._refuse(Unavailable(retry_after_s=1), about)
            except Exception as error:  # noqa: BLE001  # one bad frame must not end the socket without its cleanup
                # The type only: a message of the driver may quote the text of a person.
                log.error("chat frame failed", extra={"error": type(error).__name__})
                self._refuse(Unavailable("This failed on our side.", code="internal_error"), about)

    def _refuse(self, error: DomainError, about: str | None) -> None:
        self.tell(protocol.failed(error, about=about))
        if not self.greeted:
            self.end(Close.TRY_LATER if isinstance(error, Unavailable) else Close.BAD_PROTOCOL)
        elif error.code == "replaced":
            self.end(Close.REPLACED)

    async def _pump(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while await self._send_next():
                    continue
                if self._ending is not None:
                    await self._close(self._ending.value)
                    return
        except TimeoutError:
            # The code goes out if the client ever reads again; if not, the server's own ping ends the connection.
            self.end(Close.SLOW)
            await self._close(Close.SLOW.value)
        except Exception as error:  # noqa: BLE001  # the socket is gone under our hands: each server says so in its way
            log.info("chat socket lost", extra={"error": type(error).__name__})
            self.hub.remove(self)

    async def _send_next(self) -> bool:
        """Send one frame; False when there is nothing to send."""
        if self._answers:
            await self._put(self._answers.popleft())
            return True
        if self.delivery is None or self._ending is not None:
            return False
        frame = self.delivery.take()
        if frame is not None:
            await self._put(frame)
            return True
        return self.delivery.wants_page and await self._send_page(self.delivery)

    async def _send_page(self, delivery: Delivery) -> bool:
        async with self.hub.drains:
            delivery.begin_read()
            try:
                events = await self.hub.store.read_inbox(
                    person=self.person, after=delivery.sent, limit=protocol.PAGE_EVENTS
                )
            except AWAY:
                asyncio.get_running_loop().call_later(RETRY_S, self._wake.set)
                return False
        frames: list[str] = []
        size = 0
        for event in events:
            frame = protocol.dump(event.as_json())
            size += len(frame.encode("utf-8", "surrogatepass"))
            if frames and size > protocol.MAX_PAGE_BYTES:
                break
            frames.append(frame)
        more = len(frames) == protocol.PAGE_EVENTS or len(frames) < len(events)
        delivery.end_read([event.inbox_seq for event in events[: len(frames)]], more=more)
        if frames:
            await self._put(f'{{"type":"page","more":{str(more).lower()},"events":[{",".join(frames)}]}}')
        if not more:
            await self._put(protocol.dump({"type": "drained", "upto": delivery.sent}))
        return True

    async def _put(self, frame: str) -> None:
        async with asyncio.timeout(SEND_WITHIN_S):
            await self._send(frame)
