"""The sockets' own way to the database, never Django's default thread: that one thread serves all of a process, and
one slow query in it would make every other socket wait.

Statements of the hot path go through an async pool; the few things that need the ORM go to threads of our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections, connection
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

THREADS = 8
WAIT_S = 10.0

#: What Django's own connections have and the driver does not take.
_DJANGO_ONLY = frozenset({"cursor_factory", "context", "prepare_threshold"})

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="chat")


def make_pool() -> AsyncConnectionPool[AsyncConnection[tuple[Any, ...]]]:
    """A closed pool to the default database. Each statement is its own transaction: one round trip a send."""
    parameters = connection.get_connection_params()
    return AsyncConnectionPool(
        kwargs={
            **{name: value for name, value in parameters.items() if name not in _DJANGO_ONLY},
            "autocommit": True,
            "prepare_threshold": 2,
        },
        min_size=1,
        max_size=settings.CHAT_POOL_SIZE,
        timeout=WAIT_S,
        open=False,
        name="chat",
    )


async def in_thread(call: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
    """Run sync code (the ORM, the sync Redis client) in a thread of our own; its connection goes back at the end."""

    def work() -> Answer:
        try:
            return call(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_threads, work)
