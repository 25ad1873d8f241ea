"""What stands between the application and its store in tests, and lets the store fall silent or break off."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit

from django.conf import settings


class Front:
    """Between the reader and the store: passes bytes on, and keeps the first bytes of what it was asked.

    `cut_after`: each answer ends after so many bytes. `silent`: nothing is answered.
    """

    def __init__(self) -> None:
        target = urlsplit(str(settings.S3_ENDPOINT_URL))
        self._target = (str(target.hostname), int(target.port or 80))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cut_after: int | None = None
        self.silent = False
        self.asked: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hang_up(self) -> None:
        """Close every connection, as a store does with those that nobody used for a while."""
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                store = socket.create_connection(self._target)
                self._open += [caller, store]
                threading.Thread(target=self._ask, args=(caller, store), daemon=True).start()
                threading.Thread(target=self._answer, args=(store, caller), daemon=True).start()

    def _ask(self, caller: socket.socket, store: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := caller.recv(65536):
                self.asked.append(data[:200])
                if not self.silent:
                    store.sendall(data)
            store.shutdown(socket.SHUT_WR)

    def _answer(self, store: socket.socket, caller: socket.socket) -> None:
        passed = 0
        with contextlib.suppress(OSError), store, caller:
            while data := store.recv(65536):
                caller.sendall(data if self.cut_after is None else data[: max(0, self.cut_after - passed)])
                passed += len(data)
                if self.cut_after is not None and passed >= self.cut_after:
                    caller.shutdown(socket.SHUT_RDWR)
                    return
