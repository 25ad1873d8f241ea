from __future__ import annotations

import uuid

from celery import shared_task

from core.errors import StorageUnavailable
from playground.models import Version
from review import carrying


@shared_task(
    acks_late=True,
    ignore_result=True,
    autoretry_for=(StorageUnavailable,),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=5,
)
def carry_threads(version_id: str) -> None:
    """Work out the places that were too much for a page. If it never comes through, the next reader asks again."""
    version = Version.objects.select_related("prompt").filter(pk=uuid.UUID(version_id)).first()
    if version is not None:
        carrying.carry_threads(version, carrying.threads_of(version), most=None)
