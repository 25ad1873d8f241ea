"""The application as a server of its own, on the database of the test: real sockets, and a process to be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from django.conf import settings
from django.test import Client

from accounts.models import User
from embedded.ports import free_port
from tests.celery_worker import environment
from tests.people import SIGN_IN_BACKEND

START_WITHIN_S = 60
#: How its connections are called in pg_stat_activity.
APPLICATION = "chat-site"


class Site:
    """`python -m config.server`.

    `redis_url` is what it takes for Redis, which may be a proxy that loses messages; `drain_s` over how long a planned
    stop sends its sockets away; `port` that of the one it follows.
    """

    def __init__(
        self,
        folder: Path,
        *,
        redis_url: str = "",
        application: str = "config.asgi:application",
        drain_s: float = 0,
        port: int = 0,
    ) -> None:
        self.port = port or free_port()
        self.log = folder / f"web-{self.port}.log"
        self._drain_s = drain_s
        self._application = application
        self._redis_url = redis_url or settings.REDIS_URL
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/chat/"

    def start(self) -> None:
        """On the same port as before."""
        command = [sys.executable, "-m", "config.server", "--application", self._application, "--port", str(self.port)]
        with self.log.open("ab") as file:
            self.process = subprocess.Popen(
                [*command, "--drain-s", str(self._drain_s), "--patience-s", "2"],
                cwd=settings.BASE_DIR,
                env=environment()
                | {
                    "REDIS_URL": self._redis_url,
                    "PUBLIC_URL": self.origin,
                    "ALLOWED_HOSTS": "127.0.0.1",
                    "PGAPPNAME": APPLICATION,
                },
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        until = time.monotonic() + START_WITHIN_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.origin}/healthz", timeout=2)
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
            else:
                return
        raise AssertionError(self.log.read_text(encoding="utf-8", errors="replace")[-4000:])

    def kill(self) -> None:
        """SIGKILL: no code of it runs any more."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """A planned stop, until the process has ended."""
        self._signal(signal.SIGTERM)

    def begin_to_stop(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.process = None


def sign_in(person: User) -> tuple[Client, str]:
    """A browser in which the person is signed in, and the cookie that it sends."""
    browser = Client()
    browser.force_login(person, backend=SIGN_IN_BACKEND)
    return browser, f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
