"""The inside of a worker that runs as a process of its own: reads inputs from a socket, writes results.

    python -m inference_backend.pools.worker_process FD package.module:Class

Each message is its length (4 bytes, big-endian) and JSON: first `{"ready": ...}` or `{"error": ...}` from here, then
lists of inputs and lists of results by turns. It ends when the other end does, so it outlives nobody.
"""

import importlib
import json
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Any, Protocol

LENGTH = struct.Struct(">I")
LARGEST_MESSAGE_BYTES = 256 * 1024 * 1024


class Model(Protocol):
    """Loads what it needs in its constructor; `about` is sent with `ready`."""

    about: dict[str, Any]

    def compute(self, items: list[Any]) -> list[Any]:
        """One result for each input, both as JSON has them. An exception fails the whole call."""


def pack(content: object) -> bytes:
    body = json.dumps(content, ensure_ascii=False).encode()
    return LENGTH.pack(len(body)) + body


def serve(connection: socket.socket, model: Model) -> None:
    connection.sendall(pack({"ready": model.about}))
    while (items := _read(connection)) is not None:
        try:
            answer: object = model.compute(items)
        except Exception as error:  # noqa: BLE001 - the caller is told, and decides
            # The text of an exception may quote an input.
            answer = {"error": type(error).__name__}
        connection.sendall(pack(answer))


def _read(connection: socket.socket) -> Any:
    """None at the end."""
    head = _receive(connection, LENGTH.size)
    return json.loads(_receive(connection, LENGTH.unpack(head)[0])) if head else None


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1024 * 1024))
        if not part:
            return b""
        parts += part
    return bytes(parts)


def main(argv: Sequence[str]) -> int:
    descriptor, target = argv
    # Ctrl-C reaches the whole group; the one who started this decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = target.partition(":")
    with socket.socket(fileno=int(descriptor)) as connection:
        try:
            model = getattr(importlib.import_module(module), name)()
        except Exception as error:  # noqa: BLE001 - whatever it lacks, the other end says so
            connection.sendall(pack({"error": f"{type(error).__name__}: {error}"}))
            return 1
        try:
            serve(connection, model)
        except (BrokenPipeError, ConnectionResetError):
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
