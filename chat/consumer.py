"""`/ws/chat/`: opens, hands over, cleans up. `chat.conversing` has what is said, `chat.drain` what is delivered."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.conf import settings

from chat import hub as hubs
from chat.database import in_thread
from chat.device import AWAY, Device
from chat.limits import Buckets
from chat.protocol import Close
from chat.sessions import person_of, session_key_of
from core.bus import person_group
from core.sockets import Socket

log = logging.getLogger("playground.chat")

#: New sockets a minute: of one person, and of one address from which nobody was signed in. Not of an address as such:
#: a whole office comes from one, and comes back at the same moment after a restart.
OPENINGS = Buckets(capacity=20, refill_per_s=20 / 60, clock=time.monotonic)


class ChatConsumer(Socket):
    device: Device | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # An exception ends a consumer without `disconnect`.
            if self.device is not None:
                self.device.stop()

    async def connect(self) -> None:
        # Accepted first: a refused handshake has no close code, and the page could not tell why.
        await self.accept()
        try:
            await self._open()
        except AWAY as error:
            log.warning("chat socket not opened", extra={"error": type(error).__name__})
            await self.close(Close.TRY_LATER)

    async def _open(self) -> None:
        address = client_address(self.scope)
        session_key = session_key_of(self.scope["cookies"])
        person = await in_thread(person_of, session_key) if session_key else None
        if person is None or session_key is None:
            await self.close(Close.TRY_LATER if OPENINGS.take(address) else Close.SIGNED_OUT)
        elif OPENINGS.take(person):
            await self.close(Close.TRY_LATER)
        else:
            hub = hubs.current()
            self.device = Device(hub=hub, person=person, session_key=session_key, send=self._write, close=self._end)
            # Before the first frame is answered: the mailbox is read after the subscription, so nothing falls between.
            await self.channel_layer.group_add(person_group(person), self.channel_name)
            hub.open(self.device)
            self.device.start()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.device is None:
            return
        if text_data is None:
            self.device.end(Close.BAD_PROTOCOL)
        else:
            self.device.receive(text_data)

    async def leave(self) -> None:
        if self.device is None:
            await super().leave()
        else:
            self.device.end(Close.RESTART)

    async def disconnect(self, code: int) -> None:
        del code
        if self.device is not None:
            self.device.stop()
            await self.channel_layer.group_discard(person_group(self.device.person), self.channel_name)

    async def chat_event(self, message: dict[str, Any]) -> None:
        if self.device is not None:
            self.device.offer(message["seq"], message["frame"])

    async def chat_frame(self, message: dict[str, Any]) -> None:
        if self.device is not None and self.device.greeted:
            self.device.forward(message["frame"])

    async def chat_replaced(self, message: dict[str, Any]) -> None:
        if self.device is not None:
            self.device.replaced_by(message["gen"])

    async def session_changed(self, message: dict[str, Any]) -> None:
        del message
        if self.device is not None:
            self.device.hub.check_session(self.device)

    async def _write(self, frame: str) -> None:
        await self.send(text_data=frame)

    async def _end(self, code: int) -> None:
        await self.close(code)


def client_address(scope: Any) -> str:
    """The peer, or what the trusted proxies say of it."""
    client = scope.get("client")
    peer = str(client[0]) if client else ""
    if settings.TRUSTED_PROXY_COUNT:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        hops = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        if len(hops) >= settings.TRUSTED_PROXY_COUNT:
            return str(hops[-settings.TRUSTED_PROXY_COUNT]).strip()
    return peer
