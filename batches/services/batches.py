"""Batches: started, paused, gone on with, cancelled, tried again, deleted."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from celery import signature
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from batches.checks import Check
from batches.models import (
    Batch,
    BatchItem,
    BatchRun,
    BatchState,
    BatchVersion,
    Dataset,
    ItemStatus,
    RowSet,
)
from batches.rows import Row
from batches.services import judgements, row_sets, sending
from batches.services.columns import unset_names
from batches.services.datasets import ready_rows
from core import effects, idempotency
from core.errors import Conflict, NotFound, RateLimited, Unprocessable
from inference_client import services as runs
from inference_client.models import OPEN, Run
from playground import freezing, overrides
from playground.bodies import store
from playground.models import Prompt, Version

#: Of one person, running or paused.
MOST_OPEN = 20
#: Of the requests of a batch together: each is kept with its run.
MOST_REQUEST_BYTES = 8 * 1024**3
#: Runs: about a quarter of a second of work, and the most that a request deletes itself.
_PORTION = 1000
_BATCHES_A_TURN = 20
#: By name, because the task's module imports this one.
DELETE_ROWS = signature("batches.tasks.delete_rows", options={"priority": 6})
#: Of idempotency keys.
_SCOPE = "batches"


@dataclass(frozen=True, kw_only=True)
class AskedVersion:
    """A version as it was asked for. `model` and `provider` will answer; `asked` is what the caller named of them."""

    version: Version
    pointer: str
    model: str
    provider: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    asked: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A batch as it was asked for: of a dataset, or of rows that are kept for it alone."""

    prompt: Prompt
    versions: Sequence[AskedVersion]
    checks: Sequence[Check]
    dataset: Dataset | None = None
    rows: Sequence[Row] = ()
    name: str = ""

    def fingerprint(self) -> bytes:
        """The same for a call that is repeated after a label moved, and with it the model that answers."""
        asked = [[each.pointer, *each.asked, dict(each.parameters)] for each in self.versions]
        rows = [row.as_json() for row in self.rows]
        dataset = self.dataset.pk if self.dataset else None
        return idempotency.fingerprint(self.prompt.pk, dataset, rows, asked, list(self.checks), self.name)


def start_batch(*, account: User, plan: Plan, idempotency_key: str | None = None) -> Batch:
    """Pin the rows and versions of `plan`, and let a worker send them.

    Raises Unprocessable (a variable that no row sets, too large), Conflict (a dataset that is not read), RateLimited,
    IdempotencyKeyReused, StorageUnavailable.
    """
    request = plan.fingerprint()
    earlier = idempotency.found_before(
        account_id=account.pk, scope=_SCOPE, key=idempotency_key, request=request, find=_batch
    )
    if earlier is not None:
        return earlier
    specs = [overrides.applied(freezing.thaw(each.version), each.parameters) for each in plan.versions]

    def make() -> tuple[Batch, uuid.UUID]:
        User.objects.select_for_update(no_key=True).get(pk=account.pk)
        refuse_too_many(account)
        rows = _pinned_rows(plan)
        refuse_unset(rows, specs)
        refuse_too_large(rows, plan.versions)
        made = Batch.objects.create(
            prompt=plan.prompt,
            maker=account,
            name=plan.name,
            dataset=plan.dataset,
            rows=rows,
            checks=json.dumps(list(plan.checks)),
            cells=rows.count * len(plan.versions),
        )
        BatchVersion.objects.bulk_create(_column(made, place, each) for place, each in enumerate(plan.versions))
        effects.enqueue(sending.REFILL, str(made.pk))
        return made, made.pk

    return idempotency.once(
        account_id=account.pk, scope=_SCOPE, key=idempotency_key, request=request, make=make, find=_batch
    )


def _batch(made: uuid.UUID) -> Batch:
    return Batch.objects.there().select_related("prompt", "maker", "rows", "dataset").get(pk=made)


def _column(batch: Batch, position: int, asked: AskedVersion) -> BatchVersion:
    return BatchVersion(
        batch=batch,
        position=position,
        version=asked.version,
        pointer=asked.pointer,
        model=asked.model,
        provider=asked.provider,
        parameters=json.dumps(dict(asked.parameters)),
    )


def _pinned_rows(plan: Plan) -> RowSet:
    """The rows of the dataset as they are at this moment: its lock keeps them while the batch takes them."""
    if plan.dataset is None:
        rows = row_sets.make_row_set(prompt=plan.prompt, rows=plan.rows)
    else:
        locked = Dataset.objects.select_for_update(no_key=True).filter(pk=plan.dataset.pk).first()
        if locked is None:
            raise NotFound
        rows = ready_rows(locked)
    if rows.count == 0:
        raise Unprocessable("There are no test cases to run.", code="no_rows", field="rows")
    return rows


def refuse_too_many(account: User) -> None:
    open_states = (BatchState.RUNNING, BatchState.PAUSED)
    if Batch.objects.filter(maker=account, state__in=open_states).count() >= MOST_OPEN:
        raise RateLimited(
            f"At most {MOST_OPEN} batches of one person may be running or paused.",
            code="too_many_batches",
            next_step="Wait for one of them, or cancel it.",
            retry_after_s=60,
        )


def refuse_unset(rows: RowSet, specs: Sequence[Mapping[str, Any]]) -> None:
    """Raise Unprocessable for a variable that no row at all sets: every run would fail."""
    present = {name for name, missing in rows.missing.items() if missing < rows.count}
    unset = list(dict.fromkeys(name for spec in specs for name in unset_names(spec, present)))
    if unset:
        raise Unprocessable(
            f"No test case has a value for {', '.join('{{' + name + '}}' for name in unset)}.",
            code="variables_unset",
            field="versions",
            data={"names": unset, "count": rows.count},
            next_step="Add a column for it to the test cases, or a default to the version.",
        )


def refuse_too_large(rows: RowSet, versions: Sequence[AskedVersion]) -> None:
    """Raise Unprocessable if the requests together would fill the database."""
    total = 0
    for each in versions:
        lengths = store.lengths(prompt_id=each.version.prompt_id, sha256s=freezing.references(each.version.frozen))
        total += rows.count * sum(lengths.values()) + rows.length
    if total > MOST_REQUEST_BYTES:
        raise Unprocessable(
            f"These requests are {total / 1024**3:,.0f} GiB; those of a batch may be {MOST_REQUEST_BYTES // 1024**3}.",
            code="batch_too_large",
            next_step="Run fewer test cases at once, or a shorter prompt.",
        )


def pause_batch(*, batch: Batch) -> Batch:
    """Send nothing more; what is on its way ends. Raises Conflict for one that is over."""
    if not sending.pause(batch_id=batch.pk, code="person", message="Paused by its maker."):
        _refuse_over(batch)
    return _fresh(batch)


@transaction.atomic
def resume_batch(*, batch: Batch) -> Batch:
    """Go on where it paused. Raises Conflict for one that is over."""
    _refuse_over(batch)
    changed = Batch.objects.filter(pk=batch.pk, state=BatchState.PAUSED).update(**_RUNNING)
    if changed:
        effects.enqueue(sending.REFILL, str(batch.pk))
    return _fresh(batch)


_RUNNING: Mapping[str, Any] = {
    "state": BatchState.RUNNING,
    "paused_code": "",
    "paused_message": "",
    "held_until": None,
    "holds": 0,
    "failures": 0,
    "finished_at": None,
}


def cancel_batch(*, batch: Batch) -> Batch:
    """Stop for good: what is on its way is stopped, too, with its text kept. Cancelled already is no error.

    Raises Conflict for one that is finished.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
        if locked.state == BatchState.FINISHED:
            _refuse_over(locked)
        if not locked.is_over:
            now = timezone.now()
            locked.state, locked.finished_at, locked.held_until = BatchState.CANCELLED, now, None
            locked.paused_code = locked.paused_message = ""
            locked.save(update_fields=["state", "finished_at", "held_until", "paused_code", "paused_message"])
            locked.items.filter(status=ItemStatus.WAITING).update(status=ItemStatus.CANCELLED, ended_at=now)
            for item in locked.items.filter(status=ItemStatus.CHECKING):
                judgements.end(item, [each or judgements.CANCELLED for each in judgements.read_verdicts(item)])
    stop_runs(batch)
    return _fresh(batch)


def stop_runs(batch: Batch) -> int:
    """Stop what a cancelled batch has on its way; how many runs that were. Again and again is no harm."""
    waiting = Run.objects.filter(status__in=OPEN, cancel_requested_at=None)
    mine = waiting.filter(pk__in=BatchRun.objects.filter(item__batch=batch).values("pk")).lightly()
    return len([runs.request_cancel(run=run) for run in mine])


@transaction.atomic
def retry_items(*, batch: Batch, statuses: Sequence[str]) -> Batch:
    """Send the cells with these statuses again, and go on.

    Raises Conflict for a cancelled batch, NotFound for one that was deleted meanwhile.
    """
    locked = Batch.objects.there().select_for_update(no_key=True).filter(pk=batch.pk).first()
    if locked is None:
        raise NotFound
    if locked.state == BatchState.CANCELLED:
        _refuse_over(locked)
    again = locked.items.filter(status__in=statuses)
    changed = again.update(attempt=F("attempt") + 1, **_EMPTY)
    if changed:
        Batch.objects.filter(pk=batch.pk).update(**_RUNNING)
        effects.enqueue(sending.REFILL, str(batch.pk))
    return _fresh(batch)


_EMPTY: Mapping[str, Any] = {
    "status": ItemStatus.WAITING,
    "run": None,
    "breaks": 0,
    "verdicts": "[]",
    "marks": "",
    "excerpt": "",
    "output_chars": 0,
    "output_digest": b"",
    "stop_reason": "",
    "error_code": "",
    "error_message": "",
    "input_tokens": None,
    "output_tokens": None,
    "ttft_ms": None,
    "duration_ms": None,
    "cost_usd": None,
    "judging": None,
    "judging_attempt": 0,
    "ended_at": None,
}


def delete_batch(*, batch: Batch) -> None:
    """Remove a batch that is over, with its runs. It is gone for everybody when this returns.

    Where it has many runs, a worker deletes its rows afterwards. Raises Conflict for one that is not over.
    """
    over = Batch.objects.filter(pk=batch.pk, state__in=[BatchState.CANCELLED, BatchState.FINISHED])
    if not over.update(deleting=True):
        raise Conflict("This batch is not over.", code="batch_open", next_step="Cancel it first.")
    if _runs_of(batch.pk)[_PORTION : _PORTION + 1]:
        effects.enqueue(DELETE_ROWS, str(batch.pk))
    else:
        delete_rows(batch_id=batch.pk)


def deleting() -> Sequence[uuid.UUID]:
    """What a worker that died, or a message that was lost, has left to be deleted."""
    return list(Batch.objects.filter(deleting=True).order_by("pk").values_list("pk", flat=True)[:_BATCHES_A_TURN])


def delete_rows(*, batch_id: uuid.UUID) -> None:
    """Delete a batch that is being deleted: its runs a portion in each transaction, then all else in one.

    However often it is broken off, it goes on where it was. Of two workers at once, one stops.
    """
    while _delete_portion(batch_id):
        pass


@transaction.atomic
def _delete_portion(batch_id: uuid.UUID) -> bool:
    """Whether there is more to do."""
    locked = Batch.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=batch_id, deleting=True).first()
    if locked is None:
        return False
    portion = list(_runs_of(batch_id)[:_PORTION])
    Run.objects.filter(pk__in=portion).delete()
    if len(portion) == _PORTION:
        return True
    BatchItem.objects.filter(batch=locked).delete()
    Batch.objects.filter(pk=batch_id).delete()
    row_sets.drop_unused(locked.rows_id)
    return False


def _runs_of(batch_id: uuid.UUID) -> QuerySet[BatchRun, uuid.UUID]:
    return BatchRun.objects.filter(item__batch=batch_id).values_list("pk", flat=True)


def look_after(*, now: dt.datetime | None = None) -> Sequence[uuid.UUID]:
    """Stop what cancelled batches still have on their way; the batches that a worker may send more of."""
    now = now or timezone.now()
    ended = Batch.objects.filter(state=BatchState.CANCELLED, finished_at__gt=now - dt.timedelta(minutes=10))
    for batch in ended:
        stop_runs(batch)
    return list(Batch.objects.sendable(now).order_by("pk").values_list("pk", flat=True))


def _refuse_over(batch: Batch) -> None:
    batch.refresh_from_db(fields=["state"])
    if batch.is_over:
        raise Conflict(
            f"This batch is {batch.state}.",
            code="batch_over",
            kept="Its results are kept.",
            next_step="Start another one on the same test cases, or retry what failed in a finished one.",
        )


def _fresh(batch: Batch) -> Batch:
    return Batch.objects.select_related("prompt", "maker", "rows", "dataset").get(pk=batch.pk)
