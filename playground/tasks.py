from __future__ import annotations

import uuid

from celery import shared_task
from django.utils import timezone

from core.errors import StorageUnavailable
from playground.bodies import unstored
from playground.services import file_imports, import_work, library, packing, repacking, search, sweeping


@shared_task(
    acks_late=True,
    ignore_result=True,
    autoretry_for=(StorageUnavailable, packing.Busy),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=10,
)
def pack_upload(upload_id: str) -> None:
    """Check and store the bytes of an upload. If that stays impossible, `resend_processing` asks again."""
    packing.pack_upload(upload_id=uuid.UUID(upload_id))


@shared_task(
    acks_late=True,
    ignore_result=True,
    autoretry_for=(StorageUnavailable, packing.Busy),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=10,
)
def run_import(import_id: str) -> None:
    """Take in a file. If that stays impossible, `look_after_imports` asks again."""
    import_work.run_import(import_id=uuid.UUID(import_id))


@shared_task(ignore_result=True)
def look_after_imports() -> None:
    file_imports.look_after()


@shared_task(ignore_result=True)
def store_objects() -> None:
    unstored.store_objects()


@shared_task(ignore_result=True)
def expire_uploads() -> None:
    sweeping.expire_uploads()


@shared_task(ignore_result=True)
def resend_processing() -> None:
    sweeping.resend_processing()


@shared_task(ignore_result=True)
def sweep_staging() -> None:
    sweeping.sweep_staging()


@shared_task(ignore_result=True)
def sweep_parts() -> None:
    sweeping.sweep_parts()


@shared_task(ignore_result=True)
def sweep_bodies() -> None:
    sweeping.sweep_bodies()


@shared_task(ignore_result=True)
def sweep_objects() -> None:
    sweeping.sweep_objects()


@shared_task(ignore_result=True)
def repack_bodies() -> None:
    repacking.repack_bodies()


@shared_task(ignore_result=True)
def index_prompt(prompt_id: str) -> None:
    search.index_missing(prompt_id=uuid.UUID(prompt_id))


@shared_task(ignore_result=True)
def erase_objects(prompt_id: str) -> None:
    """If the store does not answer, `sweep_erased` comes again."""
    library.delete_objects(prompt_id=uuid.UUID(prompt_id))


@shared_task(acks_late=True, ignore_result=True)
def erase_rows(prompt_id: str) -> None:
    """If it is broken off, `sweep_erasing` goes on."""
    library.erase_rows(prompt_id=uuid.UUID(prompt_id))


@shared_task(ignore_result=True)
def sweep_erasing() -> None:
    for prompt_id in library.erasing():
        library.erase_rows(prompt_id=prompt_id)


@shared_task(ignore_result=True)
def sweep_erased() -> None:
    for prompt_id in library.waiting_for_deletion():
        library.delete_objects(prompt_id=prompt_id)


@shared_task(ignore_result=True)
def empty_trash() -> None:
    library.erase_expired(now=timezone.now())


@shared_task(ignore_result=True)
def index_late() -> None:
    search.index_missing()
