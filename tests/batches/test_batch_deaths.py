"""Workers killed with SIGKILL at each step of a batch: every row is answered once, and generated once a run.

The steps are found from outside, by a lock of the test's own connection.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from batches import tasks
from batches.models import BatchItem, BatchRun
from core.redis import client
from inference_client.models import Run
from inference_client.services import LEASE, RESEND_AFTER, fail_lost_runs, resend_queued_runs
from playground.services import SavedVersion
from tests import celery_worker
from tests.batches.running import MODELS, Work, asked, row, state
from tests.batches.test_running_batches import read
from tests.inference_client.upstream import Call, Upstream, Wire
from tests.playground.test_worker_deaths import UNWRITABLE, locked
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]
Start = Callable[..., dict[str, Any]]
Save = Callable[..., SavedVersion]
ROWS = [row(str(number)) for number in range(12)]
CHECKS = [{"kind": "contains", "text": "echo"}]
QUEUES = "celery,batches"


def worker(log: Path, upstream: Upstream) -> Any:
    return celery_worker.worker(log, queues=QUEUES, INFERENCE_BASE_URL=upstream.url, INFERENCE_API_KEY="sk-test")


def goes_on(api: APIClient, batch: dict[str, Any], work: Work, log: Path) -> None:
    """Another worker ends the batch, with what the clock does meanwhile; no row is left out or answered twice."""
    fail_lost_runs(now=timezone.now() + LEASE)
    with worker(log, work.upstream):

        def is_over() -> bool:
            resend_queued_runs(now=timezone.now() + RESEND_AFTER)
            tasks.look_after_batches()
            return state(batch) == "finished"

        wait_until(is_over, within_s=240, every_s=0.2)
    shown = read(api, batch)
    assert (shown["counts"]["passed"], shown["counts"]["total"]) == (len(ROWS), len(ROWS)), shown["counts"]
    assert BatchItem.objects.count() == len(ROWS)
    keys = Counter(call.headers["idempotency-key"] for call in work.generations)
    assert set(keys) <= {str(pk) for pk in Run.objects.values_list("pk", flat=True)}
    assert max(keys.values()) == 1, "a key was generated for twice"


def answers_two_and_waits(work: Work) -> threading.Event:
    """The model answers two rows and holds the others until the event is set, so that there are cells left to write."""
    released, asked_before = threading.Event(), itertools.count()

    async def script(call: Call, wire: Wire) -> None:
        if call.method == "GET":
            await wire.answer(200, MODELS)
            return
        if next(asked_before) >= 2:
            await asyncio.to_thread(released.wait, 60)
        await wire.whole(f"echo {asked(call)}")

    work.upstream.does(script)
    return released


def forget_messages() -> None:
    """The broker gives what a dead worker had back after an hour; until then the sweeps must do."""
    connection = client()
    for pattern in ("celery*", "batches*", "unacked*"):
        if names := list(connection.scan_iter(pattern, count=1000)):
            connection.delete(*names)


@pytest.mark.parametrize("table", ["batches_batchitem", "inference_client_run", "batches_batchrun", "batches_batch"])
def test_killed_while_it_writes_the_next_cells_none_is_lost_and_none_made_twice(
    table: str, owner_api: APIClient, save: Save, start: Start, work: Work, tmp_path: Path
) -> None:
    save()
    released = answers_two_and_waits(work)
    batch = start(ROWS, checks=CHECKS)
    with worker(tmp_path / "first.log", work.upstream) as process:
        wait_until(lambda: BatchItem.objects.filter(status="passed").count() >= 2)
        with locked(UNWRITABLE, table) as waited_for:
            released.set()
            wait_until(waited_for)
            celery_worker.kill(process)
    forget_messages()
    goes_on(owner_api, batch, work, tmp_path / "second.log")
    assert BatchRun.objects.count() >= len(ROWS)


def test_killed_while_models_answer_the_lost_runs_are_made_anew_under_other_keys(
    owner_api: APIClient, save: Save, start: Start, work: Work, tmp_path: Path
) -> None:
    save()
    batch = start(ROWS, checks=CHECKS)
    with worker(tmp_path / "first.log", work.upstream) as process:
        wait_until(lambda: Run.objects.filter(status="running").exists())
        celery_worker.kill(process)
    forget_messages()
    goes_on(owner_api, batch, work, tmp_path / "second.log")
    lost = Run.objects.filter(error_code="worker_lost").count()
    assert len(work.generations) <= len(ROWS) + lost


def test_a_backend_that_is_restarted_in_the_middle_is_waited_for(
    owner_api: APIClient, save: Save, start: Start, work: Work, tmp_path: Path
) -> None:
    save()
    batch = start(ROWS, checks=CHECKS)
    dead = Upstream()
    dead.close()
    with celery_worker.worker(tmp_path / "first.log", queues=QUEUES, INFERENCE_BASE_URL=dead.url):
        wait_until(lambda: bool(read(owner_api, batch)["held_until"]))
        assert read(owner_api, batch)["counts"]["error"] == 0
    forget_messages()
    goes_on(owner_api, batch, work, tmp_path / "second.log")
    assert len(work.generations) == len(ROWS)
