"""Holds answers against their schemas in a process of its own, which is killed if it takes too long.

One process for each process of ours, started by the first check and kept: its start costs more than a thousand checks.
It ends with its parent, whose end closes its standard input, and by its own alarm while it is at work.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from inference_client.structured import CHECK_WITHIN_S, READY, Place, Problem, Structured, untold

MOST_TEXT_BYTES = 2 * 1024 * 1024
MOST_SCHEMA_BYTES = 512 * 1024
START_WITHIN_S = 60.0
#: By the wall's clock. The child's own alarm counts its processor time and ends it sooner, unless the machine is busy.
ANSWER_WITHIN_S = 20.0
#: For whoever is before us; every check of theirs ends within its own time.
TURN_WITHIN_S = 30.0

TOO_LONG = "Not checked: the answer is longer than 2 MB."
TOO_LARGE = "Not checked: the schema is larger than 500 kB."
TOO_SLOW = f"Not checked: this schema and this answer need more than {CHECK_WITHIN_S} seconds of work or 1 GB."
BUSY = "Not checked: too many answers wait for their check."
BROKEN = "Not checked: the process that checks answers does not start."


class CheckerGone(Exception):
    """The process ended, or said nothing in time."""


class Checker:
    """One child process and the lines to and from it. Safe for threads; they take turns."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    def check(self, text: str, schema: Mapping[str, Any]) -> Structured:
        """Never raises, and returns within `TURN_WITHIN_S` + `START_WITHIN_S` + `ANSWER_WITHIN_S`, mostly in 1 ms."""
        if len(text) > MOST_TEXT_BYTES:
            return untold(TOO_LONG)
        given = json.dumps(schema)
        if len(given) > MOST_SCHEMA_BYTES:
            return untold(TOO_LARGE)
        if not self._turn.acquire(timeout=TURN_WITHIN_S):
            return untold(BUSY)
        try:
            return self._ask(f'{{"text":{json.dumps(text)},"schema":{given}}}\n')
        finally:
            self._turn.release()

    def warm(self) -> None:
        """Start the process if there is none, without waiting for it."""
        if self._turn.acquire(blocking=False):
            try:
                self._running()
            except OSError:
                return
            finally:
                self._turn.release()

    def close(self) -> None:
        if self._process is not None:
            _end(self._process)
            self._process = None

    def _ask(self, line: str) -> Structured:
        try:
            process = self._running()
            self._await_ready(process)
        except (OSError, CheckerGone):
            self.close()
            return untold(BROKEN)
        try:
            return _structured(_answer(process, line.encode("ascii")))
        except (OSError, ValueError, CheckerGone):
            self.close()
            return untold(TOO_SLOW)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = _start()
            self._is_ready = False
        return self._process

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        if not self._is_ready and _line(process, START_WITHIN_S) != READY.encode():
            raise CheckerGone
        self._is_ready = True


@functools.cache
def checker() -> Checker:
    """The one of this process."""
    made = Checker()
    atexit.register(made.close)
    return made


def check_answer(text: str, schema: Mapping[str, Any]) -> Structured:
    """Hold an answer against a JSON Schema, bounded in size, time and memory. Blocks; never raises."""
    return checker().check(text, schema)


def _start() -> subprocess.Popen[bytes]:
    # Without our environment: it holds secrets, and the child needs none of it.
    return subprocess.Popen(
        [sys.executable, "-m", "inference_client.structured"],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ.get("PATH", "")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _answer(process: subprocess.Popen[bytes], line: bytes) -> bytes:
    if process.stdin is None:
        raise CheckerGone
    process.stdin.write(line)
    process.stdin.flush()
    return _line(process, ANSWER_WITHIN_S)


def _line(process: subprocess.Popen[bytes], within_s: float) -> bytes:
    """The child's next line. Raises CheckerGone if it does not come in time, or never."""
    if process.stdout is None:
        raise CheckerGone
    give_up_at = time.monotonic() + within_s
    read = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not read.endswith(b"\n"):
            if not selector.select(max(0.0, give_up_at - time.monotonic())):
                raise CheckerGone
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                raise CheckerGone
            read += piece
    return read[:-1]


def _structured(line: bytes) -> Structured:
    told = json.loads(line)
    return Structured(
        valid=told["valid"],
        errors=tuple(Problem(**each) for each in told["errors"]),
        place=Place(**told["place"]) if told["place"] else None,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue
