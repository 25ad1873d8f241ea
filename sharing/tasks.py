from __future__ import annotations

import uuid

from celery import shared_task

from sharing import read_copies, retention


@shared_task(ignore_result=True)
def delete_read_copies(prompt_id: str, acl_epoch: int) -> None:
    """Addresses of an older epoch lead nowhere from now on. If the store does not answer, they end within 20 s."""
    read_copies.delete_before(uuid.UUID(prompt_id), acl_epoch)


@shared_task(ignore_result=True)
def sweep_read_copies() -> None:
    read_copies.sweep()


@shared_task(ignore_result=True)
def prune_access_log() -> None:
    retention.prune()
