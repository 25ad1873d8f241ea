"""python -m config.server --host HOST --port PORT [--drain-s 45] [--patience-s 15]

The web server: uvicorn with bounds on what a socket may send, and a planned stop after which not everybody comes back
at the same moment. At SIGTERM it takes no new connections, so that the next process or another one does; open sockets
are closed with 1012 one after the other over `drain-s`, and work as before until then. Then the rest of what runs has
`patience-s` to end.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import sys
from collections.abc import Sequence

import uvicorn

from core import threads
from core.sockets import send_away

#: A frame of chat has 32 KiB, and what is a little more gets an answer of ours. Beyond this the socket is closed with
#: 1009 before the message is in memory: uvicorn alone would take 16 MiB.
MAX_MESSAGE_BYTES = 64 * 1024
#: As uvicorn's own command says it.
STARTUP_FAILED = 3


class Server(uvicorn.Server):
    """A second SIGINT ends the drain at once, as it ends all of uvicorn's waiting."""

    def __init__(self, config: uvicorn.Config, *, drain_s: float) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        threads.settle()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await send_away(over_s=self._drain_s, stop=lambda: self.force_exit)
        await super().shutdown(sockets)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.server", description="The web server.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--application", default="config.asgi:application", help="module:name")
    parser.add_argument("--drain-s", type=float, default=45, help="over which sockets are sent away at a planned stop")
    parser.add_argument("--patience-s", type=int, default=15, help="that streams may go on after that")
    given = parser.parse_args(argv)
    config = uvicorn.Config(
        given.application,
        host=given.host,
        port=given.port,
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        # The application writes its own request log, without query strings.
        access_log=False,
        timeout_graceful_shutdown=given.patience_s,
    )
    server = Server(config, drain_s=given.drain_s)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    return 0 if server.started else STARTUP_FAILED


if __name__ == "__main__":
    sys.exit(main())
