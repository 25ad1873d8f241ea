"""A second thread with a connection of its own, stopped where a test wants to look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from core.errors import DomainError


@contextmanager
def beside(act: Callable[[], Any]) -> Iterator[list[Any]]:
    """`act` runs on a connection of its own; its result or error is in the list after the block."""
    out: list[Any] = []

    def run() -> None:
        try:
            out.append(act())
        except DomainError as error:
            out.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield out
    finally:
        thread.join(60)
        assert not thread.is_alive()


class Halt:
    """A place that one thread reaches and waits at until it is let go."""

    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.released.wait(60)


def blocked() -> bool:
    """Whether some connection waits for a lock of another."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
