"""The connections to Redis or Valkey, one pool a process for each of sync and async code."""

from __future__ import annotations

import functools

import redis
import redis.asyncio
from django.conf import settings


@functools.cache
def client() -> redis.Redis:
    """The sync client (bytes in, bytes out). Every call gives up after 5 s."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=3, health_check_interval=30
    )


def async_client() -> redis.asyncio.Redis:
    """A fresh async client, to be closed by the caller: an async pool belongs to the event loop that made it."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_timeout=30, socket_connect_timeout=3, health_check_interval=30
    )
