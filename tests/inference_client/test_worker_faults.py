"""Runs outlive the death of what carries them: the worker, Redis, the connections to the database."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

import core.redis
from inference_client import events, relay
from inference_client.models import Run
from inference_client.services import LEASE, SEND_RUN, fail_lost_runs, request_cancel
from tests import celery_worker
from tests.inference_client.conftest import LINE, Site, Told, text_of, told
from tests.inference_client.upstream import Call, Pausing, Upstream, Wire
from tests.valkey import Valkey
from tests.waiting import quickest, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

MakeRun = Callable[..., Run]
QUEUES = f"{celery_worker.RUNS},{celery_worker.UPKEEP}"
Sending = Callable[[Run], AbstractContextManager[None]]


@contextlib.contextmanager
def worker(upstream: Upstream, tmp_path: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """One that sends runs to `upstream`, and does what the schedule asks for."""
    server = {"INFERENCE_BASE_URL": upstream.url, "INFERENCE_API_KEY": "sk-test"}
    options = ("--concurrency", "4", *options)
    with celery_worker.worker(tmp_path / "worker.log", *options, queues=QUEUES, **server) as process:
        yield process


def test_a_worker_killed_in_the_middle_ends_its_run_once_as_failed_with_its_text(
    upstream: Upstream, make_run: MakeRun, tmp_path: Path
) -> None:
    upstream.does(Pausing("as far ", "never said"))
    run = make_run()
    with worker(upstream, tmp_path) as process:
        wait_until(lambda: ("text", {"offset": 0, "text": "as far "}) in told(run))
        process.send_signal(signal.SIGKILL)
        process.wait()
    run.refresh_from_db()
    assert run.status == "running"
    assert fail_lost_runs(now=timezone.now()) == 0, "not before its lease ended"
    assert fail_lost_runs(now=timezone.now() + LEASE) == 1
    assert fail_lost_runs(now=timezone.now() + LEASE) == 0
    run.refresh_from_db()
    assert (run.status, run.error_code, run.output, run.attempt) == ("failed", "worker_lost", "as far ", 1)
    ended_at = run.finished_at

    SEND_RUN.apply_async(args=(str(run.pk),))
    marker = make_run()
    upstream.does(Pausing("next run"))
    with worker(upstream, tmp_path):
        wait_until(lambda: Run.objects.get(pk=marker.pk).status == "succeeded")
    run.refresh_from_db()
    assert (run.status, run.finished_at, run.attempt) == ("failed", ended_at, 1), "the redelivered task did nothing"
    assert len(upstream.calls) == 2
    assert [kind for kind, _ in told(run)].count("done") == 1


def test_the_schedule_ends_the_run_of_a_killed_worker_within_half_a_minute_though_a_long_line_waits(
    upstream: Upstream, make_run: MakeRun, tmp_path: Path
) -> None:
    async def take_two_seconds(call: Call, wire: Wire) -> None:
        await asyncio.sleep(2)
        await wire.whole("done")

    upstream.does(Pausing("as far ", "never said"))
    run = make_run()
    with worker(upstream, tmp_path) as process:
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        process.send_signal(signal.SIGKILL)
    upstream.does(take_two_seconds)
    line = [make_run() for _ in range(80)]
    with worker(upstream, tmp_path, "--beat", "--schedule", str(tmp_path / "beat")):
        wait_until(lambda: "beat: Starting" in (tmp_path / "worker.log").read_text(encoding="utf-8"))
        scheduled_at = timezone.now()
        wait_until(lambda: Run.objects.get(pk=run.pk).is_terminal)
        assert Run.objects.filter(pk__in=[each.pk for each in line], status="queued").exists()
    run.refresh_from_db()
    assert run.finished_at is not None
    assert (run.finished_at - scheduled_at).total_seconds() < 30
    assert (run.error_code, run.output) == ("worker_lost", "as far ")


def test_a_run_whose_message_was_lost_is_sent_by_the_schedule(
    upstream: Upstream, make_run: MakeRun, tmp_path: Path
) -> None:
    upstream.does(Pausing("late but whole"))
    run = make_run()
    core.redis.client().delete(LINE)
    Run.objects.update(resend_at=timezone.now())
    with worker(upstream, tmp_path, "--beat", "--schedule", str(tmp_path / "beat")):
        wait_until(lambda: Run.objects.get(pk=run.pk).status == "succeeded")
    assert len(upstream.calls) == 1


def test_a_stop_reaches_a_real_worker_within_a_second(upstream: Upstream, make_run: MakeRun, tmp_path: Path) -> None:
    def stop() -> float:
        upstream.calls.clear()
        upstream.does(Pausing("as far ", "never said"))
        run = make_run()
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        request_cancel(run=run)
        took_s = wait_until(lambda: Run.objects.get(pk=run.pk).is_terminal)
        run.refresh_from_db()
        assert (run.status, run.output) == ("cancelled", "as far ")
        return took_s

    with worker(upstream, tmp_path):
        assert quickest(stop, under_s=1) < 1


@pytest.fixture
def own_redis(settings: Settings, tmp_path: Path) -> Iterator[Valkey]:
    """A Redis of this test's own, to be killed."""
    server = Valkey(tmp_path)
    server.start()
    settings.REDIS_URL = server.url
    caches = (core.redis.client, events.hasty_client, relay._shared_redis)
    for cached in caches:
        cached.cache_clear()
    yield server
    server.kill()
    for cached in caches:
        cached.cache_clear()


def follow_in_background(site: Site, run: Run, key: str) -> tuple[list[Told], threading.Thread]:
    seen: list[Told] = []

    def read() -> None:
        with site.following(run, key) as reading:
            seen.extend(reading)

    reader = threading.Thread(target=read)
    reader.start()
    return seen, reader


def test_a_redis_killed_and_restarted_in_the_middle_costs_neither_run_nor_reader_anything(
    own_redis: Valkey, site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str
) -> None:
    script = Pausing("before ", "during ", "after")
    upstream.does(script)
    run = make_run()
    seen, reader = follow_in_background(site, run, owner_key)
    with sending(run):
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        own_redis.kill()
        script.go_on()
        wait_until(lambda: script.said == 2)
        own_redis.start()
        script.go_on()
        reader.join(timeout=60)
    assert not reader.is_alive()
    run.refresh_from_db()
    assert (run.status, run.output) == ("succeeded", "before during after")
    assert seen[-1].kind == "done"
    assert text_of(seen) == "before during after"


def test_a_redis_that_stays_dead_leaves_the_run_whole_and_tells_its_end(
    own_redis: Valkey, site: Site, upstream: Upstream, make_run: MakeRun, sending: Sending, owner_key: str
) -> None:
    script = Pausing("before ", "after")
    upstream.does(script)
    run = make_run()
    seen, reader = follow_in_background(site, run, owner_key)
    with sending(run):
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        own_redis.kill()
        script.go_on()
    run.refresh_from_db()
    assert (run.status, run.output) == ("succeeded", "before after")
    reader.join(timeout=60)
    assert not reader.is_alive()
    assert text_of(seen) == "before after"
    assert seen[-1].data["status"] == "succeeded"


def test_a_database_that_drops_every_connection_in_the_middle_still_gets_the_end(
    upstream: Upstream, make_run: MakeRun, sending: Sending
) -> None:
    script = Pausing("before ", "after")
    upstream.does(script)
    run = make_run()
    at = connection.settings_dict
    with sending(run):
        wait_until(lambda: any(kind == "text" for kind, _ in told(run)))
        with psycopg.connect(
            host=at["HOST"],
            port=at["PORT"],
            user=at["USER"],
            password=at["PASSWORD"],
            dbname="postgres",
            autocommit=True,
        ) as administrator:
            administrator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [at["NAME"]]
            )
        script.go_on()
    postgres: Any = connection
    postgres.close()
    wait_until(lambda: _ended(run))
    # The pool may hold more broken ones, for the next test.
    postgres.close()
    postgres.close_pool()
    assert Run.objects.get().output == "before after"


def _ended(run: Run) -> bool:
    try:
        return Run.objects.get(pk=run.pk).status == "succeeded"
    except OperationalError:
        connection.close()
        return False
