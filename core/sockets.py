"""What every socket shares. Close codes: the number tells the browser whether to come back.

4400-4499 is final (do not reconnect), everything else may be retried with back-off.
"""

from __future__ import annotations

from channels.generic.websocket import AsyncWebsocketConsumer

CLOSE_UNKNOWN_PATH = 4404


class UnknownPath(AsyncWebsocketConsumer):
    """The catch-all: accepts nothing, answers with a code that says not to try again."""

    async def connect(self) -> None:
        await self.close(code=CLOSE_UNKNOWN_PATH)
