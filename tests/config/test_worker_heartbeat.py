"""A real worker: its heart beats while it can work, starts again with the broker, and stops when it is dead."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from redis import Redis

from config.celery import HEARTBEAT_KEY, HEARTBEAT_TTL_S
from tests.celery_worker import RUNS, kill, worker
from tests.waiting import wait_until

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
def start(redis: Redis, tmp_path: Path) -> Iterator[Start]:
    with contextlib.ExitStack() as workers:

        def start_worker(queues: str = RUNS) -> subprocess.Popen[bytes]:
            return workers.enter_context(worker(tmp_path / "worker.log", queues=queues, REDIS_URL=REDIS_URL))

        yield start_worker


def test_the_heart_beats_while_the_worker_lives_and_stops_with_it(start: Start, redis: Redis) -> None:
    living = start()
    wait_until(lambda: redis.exists(HEARTBEAT_KEY))

    first = redis.get(HEARTBEAT_KEY)
    wait_until(lambda: redis.get(HEARTBEAT_KEY) != first)

    kill(living)
    assert 0 < redis.ttl(HEARTBEAT_KEY) <= HEARTBEAT_TTL_S


def test_it_beats_again_after_the_connection_was_cut(start: Start, redis: Redis) -> None:
    start()
    wait_until(lambda: redis.exists(HEARTBEAT_KEY))

    for connection in redis.client_list():
        if connection["db"] == DATABASE and connection["id"] != str(redis.client_id()):
            redis.client_kill_filter(_id=connection["id"])
    redis.delete(HEARTBEAT_KEY)

    wait_until(lambda: redis.exists(HEARTBEAT_KEY))


def test_a_worker_for_other_queues_does_not_speak_for_runs(start: Start, redis: Redis) -> None:
    start("bodies")

    wait_until(lambda: redis.smembers("_kombu.binding.bodies"))
    with pytest.raises(TimeoutError):
        wait_until(lambda: redis.exists(HEARTBEAT_KEY), within_s=3)
