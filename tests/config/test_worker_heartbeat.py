"""A real worker: its heart beats while it can work, starts again with the broker, and stops when it is dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from redis import Redis

from config.celery import HEARTBEAT_KEY, HEARTBEAT_TTL_S

#: A Redis database of its own, so that no other test's tasks and keys are taken by this worker.
DATABASE = str(int(urlsplit(settings.REDIS_URL).path.strip("/") or 0) + 8)
REDIS_URL = urlsplit(settings.REDIS_URL)._replace(path=f"/{DATABASE}").geturl()

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def redis() -> Iterator[Redis]:
    connection = Redis.from_url(REDIS_URL)
    connection.flushdb()
    yield connection
    connection.flushdb()
    connection.close()


@pytest.fixture
def start(redis: Redis) -> Iterator[Start]:
    workers: list[subprocess.Popen[bytes]] = []

    def start_worker(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "threads", "-c", "2", *arguments]
        worker = subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env={**os.environ, "REDIS_URL": REDIS_URL},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        workers.append(worker)
        return worker

    yield start_worker
    for worker in workers:
        worker.kill()
        worker.wait()


def becomes(true: Callable[[], object], within_s: float = 20) -> bool:
    give_up_at = time.monotonic() + within_s
    while time.monotonic() < give_up_at:
        if true():
            return True
        time.sleep(0.1)
    return False


def test_the_heart_beats_while_the_worker_lives_and_stops_with_it(start: Start, redis: Redis) -> None:
    worker = start()
    assert becomes(lambda: redis.exists(HEARTBEAT_KEY))

    first = redis.get(HEARTBEAT_KEY)
    assert becomes(lambda: redis.get(HEARTBEAT_KEY) != first)

    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert 0 < redis.ttl(HEARTBEAT_KEY) <= HEARTBEAT_TTL_S


def test_it_beats_again_after_the_connection_was_cut(start: Start, redis: Redis) -> None:
    start()
    assert becomes(lambda: redis.exists(HEARTBEAT_KEY))

    for connection in redis.client_list():
        if connection["db"] == DATABASE and connection["id"] != str(redis.client_id()):
            redis.client_kill_filter(_id=connection["id"])
    redis.delete(HEARTBEAT_KEY)

    assert becomes(lambda: redis.exists(HEARTBEAT_KEY))


def test_a_worker_for_other_queues_does_not_speak_for_runs(start: Start, redis: Redis) -> None:
    start("-Q", "bodies")

    assert becomes(lambda: redis.smembers("_kombu.binding.bodies"))
    assert not becomes(lambda: redis.exists(HEARTBEAT_KEY), within_s=3)
