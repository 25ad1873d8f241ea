from __future__ import annotations

from celery import shared_task

from core import idempotency


@shared_task(ignore_result=True)
def forget_idempotency_keys() -> None:
    """Daily: keys too old for any client to still be retrying."""
    idempotency.forget_old()
