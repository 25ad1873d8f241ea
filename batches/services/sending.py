"""Sends the cells of running batches, a bounded number at a time.

A cell, its run and the place where the batch is are written in one transaction under the batch's lock, and the run's
message leaves after that. Whoever dies in between leaves either nothing or a run that the sweep of runs sends: no cell
is made twice and none is left out.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from celery import signature
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from batches import window
from batches.models import OPEN_ITEM, Batch, BatchItem, BatchRun, BatchState, ItemStatus
from batches.services import judgements, row_sets
from batches.services.columns import Column, columns_of
from core import effects
from core.errors import DomainError, StorageUnavailable, Unavailable
from inference_client.models import Run, RunKind
from playground.access import RUN
from playground.services.runs import queue_run

#: By name, because the task's module imports this one.
REFILL = signature("batches.tasks.refill_batch")
#: Cells that cannot be sent at all cost no model; so many are written down in one turn.
UNSENDABLE_A_TURN = 200
IN_FLIGHT = (ItemStatus.RUNNING, ItemStatus.CHECKING)


def refill(*, batch_id: uuid.UUID, now: dt.datetime | None = None) -> int:
    """Send as many cells of a batch as it may have on their way; how many that were. Ends it when all are answered.

    Raises StorageUnavailable; the sweep comes again.
    """
    now = now or timezone.now()
    batch = Batch.objects.sendable(now).select_related("prompt", "maker").filter(pk=batch_id).first()
    if batch is None:
        return 0
    if not batch.maker.has_perm(RUN, batch.prompt):
        pause(batch_id=batch.pk, code="access_lost", message="Its maker may not run this prompt any more.")
        return 0
    # Before the lock: the texts of the versions may come from the store.
    columns = columns_of(batch)
    with transaction.atomic():
        locked = Batch.objects.select_for_update(no_key=True).select_related("prompt", "maker").get(pk=batch_id)
        if locked.state != BatchState.RUNNING:
            return 0
        return _Turn(locked, columns, now).send(_share(locked, now))


def _share(batch: Batch, now: dt.datetime) -> int:
    running = list(Batch.objects.sendable(now).order_by("pk").values_list("pk", "maker_id"))
    share = window.shares(running, settings.BATCH_IN_FLIGHT).get(batch.pk, 0)
    # After the backend was away, one cell sees whether it is back.
    return min(share, 1) if batch.holds else share


class _Turn:
    """One turn of sending, under the lock of the batch."""

    def __init__(self, batch: Batch, columns: Sequence[Column], now: dt.datetime) -> None:
        self._batch = batch
        self._columns = columns
        self._now = now
        self._unsendable = 0

    def send(self, share: int) -> int:
        judgements.send_missing(self._batch, self._columns)
        room = share - self._batch.items.filter(status__in=IN_FLIGHT).count()
        sent = 0
        while sent < room and self._unsendable < UNSENDABLE_A_TURN:
            item = self._next()
            if item is None:
                break
            sent += self._send(item)
        if self._unsendable >= UNSENDABLE_A_TURN:
            effects.enqueue(REFILL, str(self._batch.pk))
        self._batch.save(update_fields=["sent"])
        self._finish_if_done()
        return sent

    def _next(self) -> BatchItem | None:
        """A cell to be sent again, else the next that was never sent; not saved yet."""
        waiting = self._batch.items.filter(status=ItemStatus.WAITING).order_by("row", "position").first()
        if waiting is not None or self._batch.sent >= self._batch.cells:
            return waiting
        row, position = divmod(self._batch.sent, len(self._columns))
        self._batch.sent += 1
        return BatchItem(batch=self._batch, row=row, position=position)

    def _send(self, item: BatchItem) -> bool:
        column = self._columns[item.position]
        try:
            prepared = column.prepare(row_sets.read_row(self._batch.rows_id, item.row))
            run = queue_run(account=self._batch.maker, prepared=prepared, kind=RunKind.BATCH)
        except Unavailable:
            raise
        except DomainError as error:
            self._unsendable += 1
            item.status, item.ended_at = ItemStatus.ERROR, self._now
            item.error_code, item.error_message = error.code[:64], error.message[:1000]
            item.save()
            return False
        item.status, item.run = ItemStatus.RUNNING, run
        item.save()
        tie(item, run)
        return True

    def _finish_if_done(self) -> None:
        batch = self._batch
        if batch.sent >= batch.cells and not batch.items.filter(status__in=OPEN_ITEM).exists():
            batch.state, batch.finished_at, batch.held_until = BatchState.FINISHED, self._now, None
            batch.save(update_fields=["state", "finished_at", "held_until"])


def tie(item: BatchItem, run: Run, **judging: Any) -> None:
    """Note which cell a run was made for. A second one for the same purpose is refused by the database."""
    BatchRun.objects.create(run=run, item=item, attempt=item.attempt, **judging)


@transaction.atomic
def pause(*, batch_id: uuid.UUID, code: str, message: str) -> bool:
    """Send nothing more until somebody says so; what is on its way ends. False if it is not running."""
    batch = Batch.objects.select_for_update(no_key=True).filter(pk=batch_id).first()
    if batch is None or batch.state != BatchState.RUNNING:
        return False
    batch.state, batch.paused_code, batch.paused_message = BatchState.PAUSED, code, message[:1000]
    batch.held_until = None
    batch.save(update_fields=["state", "paused_code", "paused_message", "held_until"])
    return True


__all__ = ["IN_FLIGHT", "REFILL", "StorageUnavailable", "pause", "refill", "tie"]
