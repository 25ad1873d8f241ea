"""Between an SDK and the service: loses whole answers, and cuts others in the middle."""

import contextlib
import socket
import threading
import time
from typing import Literal
from urllib.parse import urlsplit

from tests.inference_backend.scripted_engine import reset

Ending = Literal["reset", "close"]
QUIET_S = 1.0


class LossyProxy:
    """Passes bytes on in both directions.

    `lose(n)`: the next n answers end in a reset, after the service sent them. `cut_after(words, how)`: an answer that
    holds the words gets no further; its connection is reset, or closed in good order.
    """

    def __init__(self, address: str) -> None:
        target = urlsplit(address)
        self._target = (str(target.hostname), int(target.port or 80))
        self._to_lose = 0
        self._cut: tuple[bytes, Ending] | None = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, answers: int) -> None:
        self._to_lose = answers

    def cut_after(self, words: bytes, how: Ending) -> None:
        self._cut = (words, how)

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            service = socket.create_connection(self._target)
            threading.Thread(target=self._pass_on, args=(caller, service), daemon=True).start()
            threading.Thread(target=self._answer, args=(service, caller), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def _answer(self, service: socket.socket, caller: socket.socket) -> None:
        with contextlib.suppress(OSError), service, caller:
            while data := service.recv(65536):
                if self._takes_loss():
                    _swallow(service)
                    reset(caller)
                    return
                caller.sendall(data)
                if self._cut and self._cut[0] in data:
                    if self._cut[1] == "reset":
                        # What was sent must be read before the reset arrives: it would take it away.
                        time.sleep(QUIET_S / 2)
                        reset(caller)
                    else:
                        # Closing alone would not end what the other thread reads from.
                        caller.shutdown(socket.SHUT_RDWR)
                    return

    def _takes_loss(self) -> bool:
        with self._lock:
            loses = self._to_lose > 0
            self._to_lose -= loses
            return loses


def _swallow(service: socket.socket) -> None:
    """Until nothing more comes: the answer was sent whole, and its caller has seen none of it."""
    service.settimeout(QUIET_S)
    with contextlib.suppress(TimeoutError):
        while service.recv(65536):
            pass
