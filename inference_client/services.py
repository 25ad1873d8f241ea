"""What may be done to a run. Each function is one transaction; events leave after it commits.

Losing a race (a second claim, an end that somebody else wrote) is a normal return value.
"""

from __future__ import annotations

import datetime as dt
import enum
import hashlib
import json
import logging
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import rfc8785
from celery import signature
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from accounts.models import User
from core import effects, metrics
from core.errors import InvalidInput, RateLimited
from core.ids import new_id
from core.parsers import refuse_surrogates
from core.prepared import prepared_cursor
from core.prepared_insert import insert
from inference_client import events, prices
from inference_client.failures import plain_sentence
from inference_client.models import EXCERPT_LENGTH, Provider, Run, RunKind, RunStatus
from inference_client.outcomes import WORKER_LOST, Ending, ending_of

log = logging.getLogger("playground.runs")

LEASE = dt.timedelta(seconds=15)
#: Queued runs of one person, batches apart, which bound themselves. Two comparisons of the largest size fit many times.
MOST_QUEUED = 1000
RESEND_AFTER = dt.timedelta(seconds=15)
RESEND_AT_MOST_EVERY = dt.timedelta(minutes=10)
SWEEP_SIZE = 500

#: By name, because the task's module imports this one. In Redis a greater number is served later: a long line of runs
#: must not hold up the sweeps below, which are what ends the runs of a dead worker.
SEND_RUN = signature("inference_client.tasks.send_run", options={"priority": 6})


#: Written out because each run asks it, and because an UPDATE of Django's returns no row.
_COLUMNS = [field.attname for field in Run._meta.concrete_fields]
_ASKED_OF_ACCOUNT = ["id", "email", "tier"]
_CLAIM = f"""
    UPDATE inference_client_run AS run
    SET status = 'running', attempt = run.attempt + 1, started_at = %s, lease_expires_at = %s
    FROM accounts_user AS account
    WHERE run.id = %s AND run.status = 'queued' AND run.next_try_at <= %s AND account.id = run.account_id
    RETURNING {", ".join(f"run.{name}" for name in _COLUMNS)},
        {", ".join(f"account.{name}" for name in _ASKED_OF_ACCOUNT)}
"""  # noqa: S608  # names of columns
_WAITING = """
    SELECT count(*) FROM (
        SELECT FROM inference_client_run
        WHERE account_id = %s AND status = 'queued' AND kind <> 'batch' LIMIT %s
    ) AS queued
"""
_RENEW = """
    UPDATE inference_client_run SET lease_expires_at = %s, first_token_at = COALESCE(%s, first_token_at)
    WHERE id = %s AND status = 'running' AND attempt = %s
    RETURNING cancel_requested_at
"""
_FINISH = """
    UPDATE inference_client_run SET {}, first_token_at = COALESCE(%(first_token_at)s, first_token_at)
    WHERE id = %(id)s AND status = 'running' AND attempt = %(attempt)s
"""


class Lease(enum.Enum):
    """What a worker learns when it renews its lease on a run."""

    HELD = "held"
    STOP = "stop"
    LOST = "lost"


def create_run(
    *,
    account: User,
    body: Mapping[str, Any],
    api_version: str,
    provider: str = Provider.SELF_HOSTED,
    kind: str = RunKind.SINGLE,
    group_id: uuid.UUID | None = None,
    subject_id: uuid.UUID | None = None,
    run_id: uuid.UUID | None = None,
) -> Run:
    """Queue `body` (a Messages API request) to be sent once, and tell the worker after commit.

    `group_id` and `subject_id`: what it is listed by. `run_id`: of a caller that has to know it before; by default, a
    fresh one. Lists are in the order of ids, so it is a UUIDv7 of this moment.

    Runs are always streamed: `stream` is set to true if the body does not name it. Join it to your own transaction to
    tie an idempotency key. Raises InvalidInput for a body without model, max_tokens or messages, with `stream: false`,
    or with something that has no canonical form (a lone surrogate, a number outside the doubles); RateLimited where
    MOST_QUEUED runs of this person wait already.
    """
    if kind != RunKind.BATCH:
        _refuse_too_many(account)
    request = {**body, "stream": body.get("stream", True)}
    _refuse_unsendable(request)
    now = timezone.now()
    run = Run(
        id=run_id or new_id(),
        account=account,
        model=request["model"],
        provider=provider,
        kind=kind,
        group_id=group_id,
        subject_id=subject_id,
        api_version=api_version,
        request=json.dumps(request, ensure_ascii=False, separators=(",", ":")),
        request_sha256=canonical_sha256(request),
        queued_at=now,
        next_try_at=now,
        resend_at=now + RESEND_AFTER,
    )
    insert(run)
    effects.enqueue(SEND_RUN, str(run.id))
    return run


def _refuse_too_many(account: User) -> None:
    """About, not exactly: calls at the same time do not see each other's runs."""
    with prepared_cursor() as cursor:
        cursor.execute(_WAITING, [account.pk, MOST_QUEUED])
        waiting = cursor.fetchone()[0]
    if waiting == MOST_QUEUED:
        raise RateLimited(
            f"{MOST_QUEUED:,} of your runs wait already.",
            kept="They go on waiting for their turn.",
            next_step="Wait for some of them, or stop them under Runs.",
            retry_after_s=30,
        )


def canonical_sha256(request: Mapping[str, Any]) -> bytes:
    """SHA-256 of the canonical form (RFC 8785) of a request. Raises InvalidInput if it has none."""
    try:
        return hashlib.sha256(rfc8785.dumps(dict(request))).digest()
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput(f"The request has no canonical form: {error}.", field="body") from error


def _refuse_unsendable(request: Mapping[str, Any]) -> None:
    refuse_surrogates(request)
    for name, kind in (("model", str), ("max_tokens", int), ("messages", list)):
        if not isinstance(request.get(name), kind):
            raise InvalidInput(f"A request needs `{name}`.", field=name)
    if not 0 < len(request["model"]) <= 200 or "\x00" in request["model"]:
        raise InvalidInput("A model name has 1 to 200 characters.", field="model")
    if request["stream"] is not True:
        raise InvalidInput("Runs are always streamed.", field="stream")


@transaction.atomic
def request_cancel(*, run: Run, now: dt.datetime | None = None) -> Run:
    """Stop a run: a queued one ends at once, a running one within a second, an ended one stays as it is."""
    now = now or timezone.now()
    locked = Run.objects.select_for_update().get(pk=run.pk)
    if locked.status == RunStatus.QUEUED:
        locked.status = RunStatus.CANCELLED
        locked.cancel_requested_at = locked.finished_at = now
        locked.save(update_fields=["status", "cancel_requested_at", "finished_at"])
        _tell_end(locked)
    elif locked.status == RunStatus.RUNNING:
        if locked.cancel_requested_at is None:
            locked.cancel_requested_at = now
            locked.save(update_fields=["cancel_requested_at"])
        effects.after_commit(events.flag_cancel, locked.pk)
    return locked


def claim_run(*, run_id: uuid.UUID, now: dt.datetime | None = None) -> Run | None:
    """Take a queued run to send it, under a lease of 15 s; None if it is not there to be taken.

    One statement, which is its own transaction. Of the account, the run knows what a worker asks for.
    """
    now = now or timezone.now()
    with prepared_cursor() as cursor:
        cursor.execute(_CLAIM, [now, now + LEASE, run_id, now])
        row = cursor.fetchone()
    if row is None:
        return None
    run = Run.from_db(DEFAULT_DB_ALIAS, _COLUMNS, row[: len(_COLUMNS)])
    run.account = User.from_db(DEFAULT_DB_ALIAS, _ASKED_OF_ACCOUNT, row[len(_COLUMNS) :])
    effects.after_commit(events.publish_status, run.pk, RunStatus.RUNNING.value)
    return run


def renew_lease(*, run: Run, first_token_at: dt.datetime | None = None, now: dt.datetime | None = None) -> Lease:
    """Extend the lease of a claimed run and note its first token. LOST: somebody ended it; write no more."""
    now = now or timezone.now()
    with prepared_cursor() as cursor:
        cursor.execute(_RENEW, [now + LEASE, first_token_at, run.pk, run.attempt])
        row = cursor.fetchone()
    if row is None:
        return Lease.LOST
    run.first_token_at = first_token_at or run.first_token_at
    return Lease.HELD if row[0] is None else Lease.STOP


def finish_run(*, run: Run, ending: Ending, now: dt.datetime | None = None) -> bool:
    """Write the end of a claimed run, here and in `run`; False if it is no longer ours to end."""
    changes: dict[str, Any] = {
        "status": ending.status.value,
        "finished_at": now or timezone.now(),
        "lease_expires_at": None,
        "output_json": json.dumps(ending.output),
        "response_json": json.dumps(ending.response),
        "structured_json": json.dumps(ending.structured),
        "stop_reason": ending.stop_reason,
        "error_code": ending.error_code,
        "error_message": ending.error_message,
        "upstream_request_id": ending.upstream_request_id,
        "input_tokens": ending.input_tokens,
        "output_tokens": ending.output_tokens,
        "excerpt": excerpt_of(ending.output),
        "cost_usd": _cost_of(run, ending),
    }
    with prepared_cursor() as cursor:
        held = {"id": run.pk, "attempt": run.attempt, "first_token_at": ending.first_token_at}
        cursor.execute(_FINISH.format(", ".join(f"{name} = %({name})s" for name in changes)), changes | held)
        if not cursor.rowcount:
            return False
    run.first_token_at = ending.first_token_at or run.first_token_at
    for name, value in changes.items():
        setattr(run, name, value)
    _tell_end(run)
    return True


def excerpt_of(text: str) -> str:
    """The first words of an answer, in one line, as it can be stored and shown."""
    # Only as much is looked at as can matter: an answer may have megabytes.
    return plain_sentence(" ".join(text[: EXCERPT_LENGTH * 4].split()))[:EXCERPT_LENGTH].rstrip()


def _cost_of(run: Run, ending: Ending) -> Decimal | None:
    usage = (ending.response or {}).get("usage")
    return prices.cost_usd(
        model=run.model,
        provider=run.provider,
        usage=usage if isinstance(usage, dict) else {},
        input_tokens=ending.input_tokens,
        output_tokens=ending.output_tokens,
    )


@transaction.atomic
def requeue_run(*, run: Run, delay_s: float, now: dt.datetime | None = None) -> bool:
    """Give a claimed run back to be sent again after `delay_s`; False if it was ended or asked to stop meanwhile."""
    now = now or timezone.now()
    next_try = now + dt.timedelta(seconds=delay_s)
    changed = (
        _held(run)
        .filter(cancel_requested_at=None)
        .update(
            status=RunStatus.QUEUED,
            lease_expires_at=None,
            next_try_at=next_try,
            resend_at=next_try + RESEND_AFTER,
        )
    )
    if changed:
        effects.after_commit(events.publish_status, run.pk, RunStatus.QUEUED.value)
        effects.enqueue(SEND_RUN, str(run.pk), countdown=delay_s)
    return bool(changed)


def fail_lost_runs(*, now: dt.datetime | None = None) -> int:
    """End the runs whose worker died, with the text that had been relayed; how many.

    One that a person had asked to stop is cancelled, the others failed.
    """
    now = now or timezone.now()
    lost = Run.objects.stuck(now).lightly()[:SWEEP_SIZE]
    return sum(_end_lost(run, now) for run in lost)


def _end_lost(run: Run, now: dt.datetime) -> bool:
    # Before the transaction: Redis may be slow.
    ending = ending_of(WORKER_LOST, output=events.read_text(run.pk))
    if run.cancel_requested_at is not None:
        ending = Ending(status=RunStatus.CANCELLED, output=ending.output)
    with transaction.atomic():
        # The worker may have come back and renewed meanwhile.
        if not Run.objects.stuck(now).select_for_update().filter(pk=run.pk, attempt=run.attempt).exists():
            return False
        return finish_run(run=run, ending=ending, now=now)


def resend_queued_runs(*, now: dt.datetime | None = None) -> int:
    """Tell the worker again of runs that wait for long: the message may be lost. How many.

    The claim makes a double harmless. The interval doubles up to ten minutes, so that a long queue is not flooded.
    """
    now = now or timezone.now()
    return sum(_resend(run, now) for run in Run.objects.unsent(now).lightly()[:SWEEP_SIZE])


@transaction.atomic
def _resend(run: Run, now: dt.datetime) -> bool:
    again_at = now + min(max(now - run.next_try_at, RESEND_AFTER), RESEND_AT_MOST_EVERY)
    changed = Run.objects.unsent(now).filter(pk=run.pk).update(resend_at=again_at)
    if changed:
        effects.enqueue(SEND_RUN, str(run.pk))
    return bool(changed)


def _held(run: Run) -> Any:
    """The row, as long as this claim on it stands."""
    return Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING, attempt=run.attempt)


def _tell_end(run: Run) -> None:
    if run.kind == RunKind.BATCH:
        effects.enqueue(signature(settings.BATCH_RUN_ENDED), str(run.pk))
    effects.after_commit(events.publish_done, run)
    effects.after_commit(_measure_end, run)


def _measure_end(run: Run) -> None:
    metrics.RUNS_ENDED.labels(run.status).inc()
    if run.ttft_ms is not None:
        metrics.RUN_FIRST_TOKEN_SECONDS.observe(run.ttft_ms / 1000)
    log.info("run ended", extra={"run": str(run.pk), "status": run.status, "error_code": run.error_code or None})
