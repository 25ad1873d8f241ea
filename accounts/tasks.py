from __future__ import annotations

from celery import shared_task

from accounts import key_mirror


@shared_task(ignore_result=True)
def mirror_api_keys() -> None:
    """Every minute and whenever a worker connects: the copy of the keys in Redis is complete again."""
    key_mirror.mirror_all()
