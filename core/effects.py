"""The only door to Celery and the channel layer: effects leave after the transaction that caused them commits.

A task enqueued inside a transaction may start before the rows it needs are visible, or for rows that never come to be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol

from django.db import transaction

Arguments = ParamSpec("Arguments")


class Task(Protocol):
    """The part of a Celery task that effects need."""

    def apply_async(self, args: Any = ..., kwargs: Any = ..., **options: Any) -> Any: ...


def enqueue(task: Task, *args: object, **options: Any) -> None:
    """Send `task(*args)` to the worker after commit (at once when no transaction is open).

    `options` are Celery's own (queue, countdown). A broker that is down does not undo what was committed: the row
    says `queued`, and the scheduled sweep sends it again, so the error is swallowed by `robust` and logged by Django.
    """

    def send() -> None:
        task.apply_async(args=args, **options)

    transaction.on_commit(send, robust=True)


def after_commit(effect: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
    """Call `effect(...)` after commit; its failure is logged and undoes nothing, so something must repair it later.

    A named function, never `functools.partial`: Django logs a failed effect by its `__qualname__`, which a partial
    lacks, and the AttributeError would answer 500 to a person whose change was saved.
    """

    def act() -> None:
        effect(*args, **kwargs)

    transaction.on_commit(act, robust=True)
