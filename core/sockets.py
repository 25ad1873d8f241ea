"""What every socket shares. Close codes: the number tells the browser whether to come back.

4400-4499 is final (do not reconnect), everything else may be retried with back-off.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer

CLOSE_UNKNOWN_PATH = 4404
CLOSE_RESTART = 1012

#: Of those who are sent away, the ones of so long a time go together.
LEAVE_EVERY_S = 0.1

_open: set[Socket] = set()


class Socket(AsyncWebsocketConsumer):
    """A socket whose handlers never use Django's connections, so that no message waits for the default thread.

    Channels goes through that thread for each message, to close old connections: there, one query of two seconds
    would make all sockets of the process wait for two seconds.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        _open.add(self)
        try:
            await super().__call__(scope, receive, send)
        finally:
            _open.discard(self)

    async def leave(self) -> None:
        """The process ends as planned. Once is enough."""
        await self.close(CLOSE_RESTART)

    async def dispatch(self, message: dict[str, Any]) -> None:
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"No handler for message type {message['type']}")
        await handler(message)


async def send_away(*, over_s: float, stop: Callable[[], bool]) -> None:
    """A planned stop: all sockets are closed with CLOSE_RESTART, one after the other over a time, or at once if `stop`.

    Whoever is left works as before. All at once would come back at once.
    """
    until = time.monotonic() + over_s
    gone: set[Socket] = set()
    while left := list(_open - gone):
        left_s = until - time.monotonic()
        pause_s = left_s / len(left)
        together = len(left) if left_s <= 0 or stop() else min(len(left), max(1, int(LEAVE_EVERY_S / pause_s)))
        for socket in random.sample(left, together):
            gone.add(socket)
            await socket.leave()
        if together < len(left):
            await asyncio.sleep(min(max(pause_s, LEAVE_EVERY_S), max(0.0, until - time.monotonic())))


class UnknownPath(AsyncWebsocketConsumer):
    """The catch-all: accepts nothing, answers with a code that says not to try again."""

    async def connect(self) -> None:
        await self.close(code=CLOSE_UNKNOWN_PATH)
