"""Ports on the loopback: chosen once for a data folder, and kept, so that what printed an address stays right."""

import errno
import json
import random
import socket
from pathlib import Path

from embedded.errors import PortTaken
from embedded.folder import write_json

#: Below the range from which Linux takes the ports of outgoing connections (32768 and up): a port from there could
#: be taken for a moment by any client while its service restarts.
CANDIDATES = range(20_000, 32_000)


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen on `port` now. A port in TIME_WAIT counts as free, as it does for servers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    for port in random.sample(CANDIDATES, 200):
        if is_free(port):
            return port
    raise PortTaken(f"no free port between {CANDIDATES.start} and {CANDIDATES.stop}")


class Ports:
    """The ports of one data folder, by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._asked: set[str] = set()
        self._given: set[int] = set()

    def reserve(self, port: int) -> None:
        """Never to be given out: somebody chose it for a service that does not listen yet."""
        self._given.add(port)

    def get(self, name: str) -> int:
        """The port of `name`: the one it had, unless something else took it meanwhile. The same for a whole run."""
        port = self._known.get(name)
        if port is not None and name in self._asked:
            return port
        self._asked.add(name)
        while port is None or port in self._given or not is_free(port):
            port = free_port()
        self._given.add(port)
        if self._known.get(name) != port:
            self._known[name] = port
            write_json(self._path, self._known)
        return port
