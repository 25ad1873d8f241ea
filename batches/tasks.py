from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from celery import shared_task
from django.db import InterfaceError, OperationalError

from batches.services import batches, files, reading, sending, settling
from core.errors import StorageUnavailable

log = logging.getLogger("playground.batches")


@shared_task(acks_late=True, ignore_result=True)
def refill_batch(batch_id: str) -> None:
    """Send what a batch may have on its way. If that is impossible now, `look_after_batches` comes again."""
    sending.refill(batch_id=uuid.UUID(batch_id))


@shared_task(acks_late=True, ignore_result=True)
def settle_run(run_id: str) -> None:
    """A run of a batch has ended: check its answer, then send the next."""
    batch_id = settling.settle(run_id=uuid.UUID(run_id))
    if batch_id is not None:
        sending.refill(batch_id=batch_id)


@shared_task(
    acks_late=True,
    ignore_result=True,
    autoretry_for=(StorageUnavailable, reading.Busy),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=10,
)
def read_file(dataset_id: str) -> None:
    """Read a file of test cases. If that stays impossible, `look_after_files` asks again."""
    reading.read_file(dataset_id=uuid.UUID(dataset_id))


@shared_task(ignore_result=True)
def look_after_files() -> None:
    files.look_after()


@shared_task(acks_late=True, ignore_result=True)
def delete_rows(batch_id: str) -> None:
    """If it is broken off, `sweep_deleting` goes on."""
    batches.delete_rows(batch_id=uuid.UUID(batch_id))


@shared_task(ignore_result=True)
def sweep_deleting() -> None:
    for batch_id in batches.deleting():
        _try(batches.delete_rows, batch_id=batch_id)


@shared_task(ignore_result=True)
def look_after_batches() -> None:
    for run_id in settling.unsettled():
        _try(settling.settle, run_id=run_id)
    for batch_id in batches.look_after():
        _try(sending.refill, batch_id=batch_id)


def _try(step: Callable[..., object], **about: uuid.UUID) -> None:
    """One batch that cannot go on, for whatever reason, holds up no other."""
    try:
        step(**about)
    except (OperationalError, InterfaceError):
        raise  # the database is away: it is for the others, too
    except Exception:
        log.exception("a batch was not looked after", extra={name: str(value) for name, value in about.items()})
