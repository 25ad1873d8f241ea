"""Tells all processes that access was taken back. Only quick: lost, it costs some seconds and never the bound.

The news is published after the commit; one thread a process listens and forgets what was decided before. On each new
connection it forgets everything, since it cannot know what it missed.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from core import bus, metrics
from core.redis import client
from sharing import kept

log = logging.getLogger("playground.sharing")

CHANNEL = "sharing:epochs"
_PAUSE_S = 0.5
_LISTEN_S = 1.0

_lock = threading.Lock()
_listening_in: int | None = None


def prompt_group(prompt_id: uuid.UUID) -> str:
    """The group of all sockets that watch a prompt."""
    return f"prompt.{prompt_id.hex}"


def publish(prompt_id: uuid.UUID, acl_epoch: int) -> None:
    """Called after the commit. A failure is counted and swallowed: publishing may lose anyway."""
    kept.learn(prompt_id, acl_epoch)
    try:
        client().publish(CHANNEL, f"{prompt_id.hex} {acl_epoch}")
    except redis.RedisError:
        metrics.BUS_LOST.inc()
    bus.publish(prompt_group(prompt_id), {"type": "access.changed"})


def listen() -> None:
    """Have this process hear news from now on, once: cheap to call before each use of what is kept."""
    global _listening_in  # noqa: PLW0603  # one thread a process; a fork starts its own
    if _listening_in == os.getpid() or not settings.SHARING_NEWS:
        return
    with _lock:
        if _listening_in != os.getpid():
            _listening_in = os.getpid()
            threading.Thread(target=_listen_for_ever, name="sharing-news", daemon=True).start()


def _listen_for_ever() -> None:
    # Without retries: redis-py would subscribe again by itself, and what was said meanwhile be missed unnoticed.
    connection = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=3, retry=Retry(NoBackoff(), 0)
    )
    pause, away = threading.Event(), False
    while True:
        try:
            with connection.pubsub(ignore_subscribe_messages=True) as listener:  # type: ignore[no-untyped-call]
                listener.subscribe(CHANNEL)
                # The answer comes with the first message that is read, and all before it may have been missed.
                listener.get_message(timeout=_LISTEN_S)
                kept.forget()
                away = False
                while True:
                    message = listener.get_message(timeout=_LISTEN_S)
                    if message is not None:
                        hear(message["data"])
        except (redis.RedisError, OSError) as error:
            kept.forget()
            if not away:
                log.warning("no news of access", extra={"error": type(error).__name__})
            away = True
        pause.wait(_PAUSE_S)


def hear(data: bytes) -> None:
    """What is no news of ours is ignored."""
    words = data.split()
    try:
        prompt_id, acl_epoch = uuid.UUID(hex=words[0].decode("ascii")), int(words[1])
    except (ValueError, IndexError):
        return
    kept.learn(prompt_id, acl_epoch)
