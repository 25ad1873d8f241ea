"""A proxy in front of Valkey that loses, delays and doubles what subscribers are told, and can cut everybody off.

It speaks RESP only as far as it must: it finds where each reply ends, and treats pushed messages as the plan says.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

#: For how long a connection is dead before it breaks. Without it a cut may fall between two messages and lose none.
DEAD_S = 0.2


def reply_end(data: bytes, start: int = 0) -> int:
    """Where the RESP reply that begins at `start` ends; -1 if it is not complete."""
    line_end = data.find(b"\r\n", start)
    if line_end < 0:
        return -1
    kind, after = data[start : start + 1], line_end + 2
    if kind in b"$=!":
        length = int(data[start + 1 : line_end])
        end = after if length < 0 else after + length + 2
        return end if end <= len(data) else -1
    if kind in b"*>~%":
        parts = int(data[start + 1 : line_end]) * (2 if kind == b"%" else 1)
        for _ in range(max(0, parts)):
            after = reply_end(data, after)
            if after < 0:
                return -1
    return after


@dataclass
class LossyBus:
    """Shares of the messages that are lost, doubled and held back for up to 0.5 s. Runs in a thread of its own."""

    lost: float = 0.0
    doubled: float = 0.0
    delayed: float = 0.0
    seen: int = 0
    dropped: int = 0
    port: int = 0
    random: random.Random = field(default_factory=lambda: random.Random(7))
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _is_dead: bool = False

    @property
    def url(self) -> str:
        at = urlsplit(settings.REDIS_URL)
        account = at.netloc.rpartition("@")[0]
        return f"{at.scheme}://{account}@127.0.0.1:{self.port}{at.path}"

    def start(self) -> None:
        ready = threading.Event()

        def serve() -> None:
            asyncio.run(self._serve(ready))

        threading.Thread(target=serve, daemon=True).start()
        assert ready.wait(60)

    def cut(self) -> None:
        """Every connection to Valkey is dead from now, and breaks soon: what is told in between is told to nobody."""
        assert self._loop is not None
        self._is_dead = True
        self._loop.call_soon_threadsafe(self._loop.call_later, DEAD_S, self._break)

    def _break(self) -> None:
        self._is_dead = False
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        at = urlsplit(settings.REDIS_URL)
        try:
            back_reader, back_writer = await asyncio.open_connection(at.hostname, at.port)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back_writer}
        directions = [
            asyncio.ensure_future(self._pass_on(reader, back_writer)),
            asyncio.ensure_future(self._tamper(back_reader, writer)),
        ]
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        for direction in directions:
            direction.cancel()
        for each in (writer, back_writer):
            self._writers.discard(each)
            each.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)

    async def _tamper(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        buffer = b""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                buffer += data
                while buffer and (end := reply_end(buffer)) > 0:
                    self._forward(buffer[:end], writer)
                    buffer = buffer[end:]

    def _forward(self, reply: bytes, writer: asyncio.StreamWriter) -> None:
        if b"$7\r\nmessage\r\n" not in reply[:40] or b"chat.event" not in reply:
            writer.write(reply)
            return
        self.seen += 1
        chance = self.random.random()
        if self._is_dead or chance < self.lost:
            self.dropped += 1
        elif chance < self.lost + self.delayed:
            assert self._loop is not None
            self._loop.call_later(self.random.uniform(0, 0.5), writer.write, reply)
        else:
            writer.write(reply)
            if self.random.random() < self.doubled:
                writer.write(reply)
