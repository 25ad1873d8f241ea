"""The only door to Celery and the channel layer: effects leave after the transaction that caused them commits.

A task enqueued inside a transaction may start before the rows it needs are visible, or for rows that never come to be.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

from django.db import transaction


class Task(Protocol):
    """The part of a Celery task that effects need."""

    def apply_async(self, args: Any = ..., kwargs: Any = ..., **options: Any) -> Any: ...


def enqueue(task: Task, *args: object, **options: Any) -> None:
    """Send `task(*args)` to the worker after commit (at once when no transaction is open).

    `options` are Celery's own (queue, countdown). A broker that is down does not undo what was committed: the row
    says `queued`, and the scheduled sweep sends it again, so the error is swallowed by `robust` and logged by Django.
    """
    transaction.on_commit(functools.partial(task.apply_async, args=args, **options), robust=True)
