"""Real servers for tests: the backend under uvicorn in a thread, and the embedded engine in a process."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from embedded.ports import free_port
from inference_backend.app import build_app
from inference_backend.settings import Settings
from tests.waiting import wait_until

SERVICE_KEY = "service-key-of-the-tests"
EMBEDDED_MODEL = "smollm2-135m-instruct"


def answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=10, trust_env=False).status_code == 200
    except httpx2.HTTPError:
        return False


@contextlib.contextmanager
def running_backend(settings: Settings, *, wait_for_ready: bool = True) -> Iterator[str]:
    """Yields the address."""
    config = uvicorn.Config(
        build_app(settings),
        host="127.0.0.1",
        port=0,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        wait_until(lambda: answers(f"{address}{'/readyz' if wait_for_ready else '/healthz'}"))
        yield address
    finally:
        server.should_exit = True
        thread.join(60)


class ServiceProcess:
    """`python -m inference_backend serve`, as an operator starts it."""

    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        self._log = log
        self.address = f"http://127.0.0.1:{(port := free_port())}"
        with log.open("wb") as stream:
            self.running = subprocess.Popen(
                [sys.executable, "-m", "inference_backend", "serve", "--port", str(port)],
                env={"PATH": os.environ["PATH"], **environment},
                stderr=stream,
            )

    def request_lines(self, count: int) -> list[dict[str, Any]]:
        """A line is written when its answer is on its way already."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.lines() if line["message"] == "request"]

        wait_until(lambda: len(found()) >= count)
        return found()

    def lines(self) -> list[dict[str, Any]]:
        # The last line may be half written.
        return [json.loads(line) for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def kill(self) -> None:
        self.running.kill()
        self.running.wait(60)


class EmbeddedEngine:
    """`python -m embedded.engine`, small: two slots of 256 tokens, one thread."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "embedded.engine", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--threads", "1", "--slots", "2", "--context", "512"],
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: answers(f"{self.url}/health"))

    def stop(self) -> int:
        if self._process is None:
            raise RuntimeError("not started")
        self._process.terminate()
        return self._process.wait(60)

    def kill(self) -> None:
        if self._process is None:
            raise RuntimeError("not started")
        self._process.kill()
        self._process.wait(60)

    def busy_slots(self) -> int:
        slots = httpx2.get(f"{self.url}/slots", timeout=5, trust_env=False).json()
        return sum(bool(slot["is_processing"]) for slot in slots)
