from __future__ import annotations

from celery import shared_task

from chat.services.last_seen import flush_last_seen as flush
from chat.services.retention import prune_inboxes as prune


@shared_task(ignore_result=True)
def flush_last_seen() -> None:
    flush()


@shared_task(ignore_result=True)
def prune_inboxes() -> None:
    prune()
