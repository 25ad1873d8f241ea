"""Who may send a run, and what happens when the sender dies."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable

import pytest
from django.db import connections
from django.utils import timezone
from redis import Redis

from inference_client.events import text_key
from inference_client.models import Run, RunStatus
from inference_client.outcomes import Ending
from inference_client.services import (
    Lease,
    claim_run,
    fail_lost_runs,
    finish_run,
    renew_lease,
    request_cancel,
    resend_queued_runs,
)
from tests.inference_client.conftest import LINE, told

pytestmark = pytest.mark.django_db(transaction=True)

MakeRun = Callable[..., Run]
LATER = dt.timedelta(seconds=16)
GOOD = Ending(status=RunStatus.SUCCEEDED, output="fine", stop_reason="end_turn")


def claimed(run: Run) -> Run:
    found = claim_run(run_id=run.pk)
    assert found is not None
    return found


def test_a_claim_starts_the_run_under_a_lease(make_run: MakeRun) -> None:
    run = claimed(make_run())
    assert (run.status, run.attempt) == ("running", 1)
    assert run.lease_expires_at is not None
    assert run.lease_expires_at - timezone.now() <= dt.timedelta(seconds=15)


def test_a_run_is_claimed_once(make_run: MakeRun) -> None:
    run = make_run()
    assert claim_run(run_id=run.pk) is not None
    assert claim_run(run_id=run.pk) is None


def test_of_many_claims_at_the_same_time_one_wins(make_run: MakeRun) -> None:
    run = make_run()
    won: list[Run] = []
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        found = claim_run(run_id=run.pk)
        if found is not None:
            won.append(found)
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert Run.objects.get().attempt == 1


def test_a_run_is_not_claimed_before_its_time(make_run: MakeRun) -> None:
    run = make_run()
    assert claim_run(run_id=run.pk, now=run.next_try_at - dt.timedelta(seconds=1)) is None


def test_a_renewed_lease_is_not_lost(make_run: MakeRun) -> None:
    run = claimed(make_run())
    soon = timezone.now() + dt.timedelta(seconds=10)
    assert renew_lease(run=run, now=soon) is Lease.HELD
    assert fail_lost_runs(now=timezone.now() + LATER) == 0
    assert Run.objects.get().status == "running"


def test_a_renewal_notes_the_first_token(make_run: MakeRun) -> None:
    run = claimed(make_run())
    now = timezone.now()
    renew_lease(run=run, first_token_at=now)
    assert Run.objects.get().first_token_at == now


def test_a_run_whose_lease_ended_fails_with_its_partial_text(make_run: MakeRun, redis: Redis) -> None:
    run = claimed(make_run())
    redis.set(text_key(run.pk), "as far as né")
    assert fail_lost_runs(now=timezone.now() + LATER) == 1
    run.refresh_from_db()
    assert (run.status, run.error_code, run.output) == ("failed", "worker_lost", "as far as né")
    assert told(run)[-1][1]["error"]["code"] == "worker_lost"


def test_a_lost_run_that_was_asked_to_stop_is_cancelled(make_run: MakeRun, redis: Redis) -> None:
    run = claimed(make_run())
    redis.set(text_key(run.pk), "some")
    request_cancel(run=run)
    fail_lost_runs(now=timezone.now() + LATER)
    run.refresh_from_db()
    assert (run.status, run.error_code, run.output) == ("cancelled", "", "some")


def test_a_worker_that_lost_its_run_writes_no_more(make_run: MakeRun) -> None:
    run = claimed(make_run())
    fail_lost_runs(now=timezone.now() + LATER)
    assert renew_lease(run=run) is Lease.LOST
    assert finish_run(run=run, ending=GOOD) is False
    assert Run.objects.get().error_code == "worker_lost"


def test_an_older_claim_cannot_end_a_newer_one(make_run: MakeRun) -> None:
    old = claimed(make_run())
    Run.objects.update(status="queued", lease_expires_at=None)
    new = claimed(old)
    assert finish_run(run=old, ending=GOOD) is False
    assert finish_run(run=new, ending=GOOD) is True


def test_a_run_ends_once(make_run: MakeRun) -> None:
    run = claimed(make_run())
    assert finish_run(run=run, ending=GOOD) is True
    assert finish_run(run=run, ending=Ending(status=RunStatus.FAILED, error_code="x")) is False
    assert Run.objects.get().status == "succeeded"


def test_a_new_run_tells_the_worker_after_commit(make_run: MakeRun, redis: Redis) -> None:
    make_run()
    assert redis.llen(LINE) == 1


def test_a_queued_run_is_sent_again_after_fifteen_seconds_and_then_ever_more_rarely(
    make_run: MakeRun, redis: Redis
) -> None:
    run = make_run()
    redis.delete(LINE)
    at = [
        offset for offset in range(0, 400, 10) if resend_queued_runs(now=run.queued_at + dt.timedelta(seconds=offset))
    ]
    assert at == [20, 40, 80, 160, 320]
    assert redis.llen(LINE) == 5


def test_a_run_that_was_taken_is_not_sent_again(make_run: MakeRun) -> None:
    claimed(make_run())
    assert resend_queued_runs(now=timezone.now() + LATER) == 0
