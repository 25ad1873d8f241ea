"""A real Celery worker on the database, the Redis and the bucket of a test. It can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection

import core.redis

#: Uploads, sweeps and search; and runs.
UPKEEP, RUNS = "upkeep", "celery"


def environment() -> dict[str, str]:
    at = connection.settings_dict
    storage = {
        name: str(getattr(settings, name))
        for name in (
            "S3_ENDPOINT_URL",
            "S3_PUBLIC_ENDPOINT_URL",
            "S3_BUCKET",
            "S3_ACCESS_KEY_ID",
            "S3_SECRET_ACCESS_KEY",
        )
    }
    return {
        **os.environ,
        **storage,
        "DATABASE_URL": f"postgres://{at['USER']}:{at['PASSWORD']}@{at['HOST']}:{at['PORT']}/{at['NAME']}",
        "REDIS_URL": settings.REDIS_URL,
    }


def forget_messages() -> None:
    """What earlier tests enqueued is of rows that are gone."""
    core.redis.client().delete(UPKEEP, "unacked", "unacked_index")


@contextlib.contextmanager
def worker(log: Path, *options: str, queues: str = UPKEEP, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of these queues, killed at the end of the block, if not before, and what it started with it.

    `options` are those of its command, `variables` what differs in its environment.
    """
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--queues", queues, "--pool", "threads"]
    with log.open("ab") as file:
        process = subprocess.Popen(
            [*command, "--concurrency", "2", "--loglevel", "INFO", "--without-mingle", "--without-gossip", *options],
            cwd=settings.BASE_DIR,
            env=environment() | variables,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL: no code of it runs any more, and its connections are cut."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
