"""A network between the pages and a server, which can stop carrying without a word: no FIN, no RST, nothing.

A TCP proxy in a thread of its own. What it holds back stays where it is, as with a cable that was pulled.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field


@dataclass
class Network:
    to_port: int
    port: int = 0
    #: Connections that were open when the network stopped carrying.
    swallowed: int = 0
    _open: set[_Carried] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def socket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/chat/"

    def start(self) -> None:
        ready = threading.Event()

        def serve() -> None:
            asyncio.run(self._serve(ready))

        threading.Thread(target=serve, daemon=True).start()
        assert ready.wait(60)

    def swallow(self) -> None:
        """All connections of now carry nothing any more and are never closed; new ones work."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._swallow)

    def _swallow(self) -> None:
        for carried in self._open:
            carried.dead = True
            self.swallowed += 1
        self._open = set()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self.to_port)
        except OSError:
            writer.close()
            return
        carried = _Carried()
        self._open.add(carried)
        directions = [
            asyncio.ensure_future(carried.carry(reader, back_writer)),
            asyncio.ensure_future(carried.carry(back_reader, writer)),
        ]
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        for direction in directions:
            direction.cancel()
        self._open.discard(carried)
        for each in (writer, back_writer):
            each.close()


class _Carried:
    """One connection through the network."""

    def __init__(self) -> None:
        self.dead = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while (data := await reader.read(65536)) and not self.dead:
                writer.write(data)
        if self.dead:
            # Neither end learns that the other one is gone, or has gone.
            await asyncio.Event().wait()
