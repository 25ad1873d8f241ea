"""What every socket shares. Close codes: the number tells the browser whether to come back.

4400-4499 is final (do not reconnect), everything else may be retried with back-off.
"""

from __future__ import annotations

from typing import Any

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer

CLOSE_UNKNOWN_PATH = 4404


class Socket(AsyncWebsocketConsumer):
    """A socket whose handlers never use Django's connections, so that no message waits for the default thread.

    Channels goes through that thread for each message, to close old connections: there, one query of two seconds
    would make all sockets of the process wait for two seconds.
    """

    async def dispatch(self, message: dict[str, Any]) -> None:
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"No handler for message type {message['type']}")
        await handler(message)


class UnknownPath(AsyncWebsocketConsumer):
    """The catch-all: accepts nothing, answers with a code that says not to try again."""

    async def connect(self) -> None:
        await self.close(code=CLOSE_UNKNOWN_PATH)
