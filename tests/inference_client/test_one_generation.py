"""However often a run is asked for, told, or its worker killed: one run, and at most one generation at the model.

The model counts: a scripted engine behind our real inference backend, and a real worker in a process of its own.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.db import connections
from django.utils import timezone
from redis import Redis

from accounts.models import User
from inference_client.models import Run, RunStatus
from inference_client.services import LEASE, SEND_RUN, fail_lost_runs, resend_queued_runs
from playground import services
from playground.models import VersionRun
from playground.spec import parse
from tests import celery_worker
from tests.inference_backend.conftest import settings_for
from tests.inference_backend.running import SERVICE_KEY, running_backend
from tests.inference_backend.scripted_engine import MODEL, ScriptedEngine
from tests.inference_client.conftest import LINE
from tests.inference_client.dying import STEPS
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]

MakeRun = Callable[..., Run]
Worker = Callable[..., AbstractContextManager[subprocess.Popen[bytes]]]
#: What becomes of a run whose worker died at a step: its status, and how often the model generated for it.
ENDS = {
    "received": ("succeeded", 1),
    "claimed": ("failed", 0),
    "answering": ("failed", 1),
    "answered": ("failed", 1),
    "ended": ("succeeded", 1),
}


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine()
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture
def worker(engine: ScriptedEngine, tmp_path: Path, redis: Redis) -> Iterator[Worker]:
    del redis
    with running_backend(settings_for(engine.url, INFERENCE_ENGINE_MODEL=MODEL)) as address:
        server = {"INFERENCE_BASE_URL": address, "INFERENCE_API_KEY": SERVICE_KEY}

        def start(**variables: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
            options = ("--concurrency", "4", "--include", "tests.inference_client.dying")
            return celery_worker.worker(
                tmp_path / "worker.log", *options, queues=celery_worker.RUNS, **server, **variables
            )

        yield start


def asking(words: str) -> dict[str, object]:
    return {"model": MODEL, "messages": [{"role": "user", "content": words}]}


def ended(run: Run) -> bool:
    return Run.objects.get(pk=run.pk).is_terminal


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_this_step_generates_at_most_once(
    engine: ScriptedEngine, worker: Worker, make_run: MakeRun, step: str
) -> None:
    run = make_run(**asking("once"))
    with worker(DIES_AT=step) as dying:
        wait_until(lambda: dying.poll() is not None)
    later = timezone.now() + LEASE + dt.timedelta(seconds=60)
    fail_lost_runs(now=later)
    resend_queued_runs(now=later)
    for _ in range(3):
        SEND_RUN.apply_async(args=(str(run.pk),))
    marker = make_run(**asking("marker"))
    with worker():
        wait_until(lambda: ended(run) and ended(marker))
    run.refresh_from_db()
    assert (run.status, engine.generations["once"]) == ENDS[step]
    assert run.attempt == 1
    assert engine.generations["marker"] == 1


def test_a_message_delivered_ten_times_is_one_generation(
    engine: ScriptedEngine, worker: Worker, make_run: MakeRun
) -> None:
    run = make_run(**asking("once"))
    for _ in range(9):
        SEND_RUN.apply_async(args=(str(run.pk),))
    with worker():
        wait_until(lambda: ended(run))
        marker = make_run(**asking("marker"))
        wait_until(lambda: ended(marker))
    assert Run.objects.get(pk=run.pk).status == RunStatus.SUCCEEDED
    assert engine.generations["once"] == 1


def test_a_double_click_and_a_replay_are_one_run_and_one_generation(
    engine: ScriptedEngine, worker: Worker, owner: User
) -> None:
    prompt = services.create_prompt(owner=owner, name="Once")
    spec = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": "once"}]}
    saved = services.save_version(author=owner, prompt=prompt, spec=parse(spec), parent=None, branch="main")
    version = saved.version

    def click(_: int) -> str:
        try:
            return str(services.run_version(account=owner, version=version, values={}, idempotency_key="one wish").pk)
        finally:
            connections.close_all()

    with worker(), ThreadPoolExecutor(8) as clicks:
        runs = set(clicks.map(click, range(16)))
        [made] = Run.objects.all()
        wait_until(lambda: ended(made))
        time.sleep(0.5)
        replayed = click(0)
    assert runs == {str(made.pk)} == {replayed}
    assert VersionRun.objects.count() == 1
    assert engine.generations["once"] == 1


def test_a_line_that_is_gone_from_the_broker_is_sent_once_each(
    engine: ScriptedEngine, worker: Worker, make_run: MakeRun, redis: Redis
) -> None:
    runs = [make_run(**asking(f"number {number}")) for number in range(6)]
    redis.delete(LINE)
    Run.objects.update(resend_at=timezone.now())
    resend_queued_runs()
    Run.objects.update(resend_at=timezone.now())
    resend_queued_runs()
    with worker():
        wait_until(lambda: all(ended(run) for run in runs))
    assert [engine.generations[f"number {number}"] for number in range(6)] == [1] * 6
