"""Handing to a worker what is too much for a page."""

from __future__ import annotations

import redis
from celery import signature

from core import effects
from core.redis import client
from playground.models import Version

#: By name: the task's module is the worker's.
CARRY_THREADS = signature("review.tasks.carry_threads", options={"priority": 6, "expires": 60})
#: A page asks again every second or two while it waits; one task at a time is enough.
_ASKED_S = 20


def carry_later(version: Version) -> None:
    """Have a worker find the places of all threads that `version` shows, unless one was asked moments ago."""
    try:
        is_first = client().set(f"review:carrying:{version.pk}", 1, nx=True, ex=_ASKED_S)
    except redis.RedisError:
        return  # the broker is the same Redis; the page asks again
    if is_first:
        effects.enqueue(CARRY_THREADS, str(version.pk))
