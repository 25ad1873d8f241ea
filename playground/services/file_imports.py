"""Files with a whole tree that a worker takes in: announced or handed over, queued, cancelled, looked after.

What the worker does with one is in `services.import_work`.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from celery import signature
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core import effects, idempotency
from core.errors import Conflict, RateLimited, TooLarge
from playground.bodies import objects
from playground.models import MAX_IMPORT_BYTES, MAX_JSON_IMPORT_BYTES, FileImport, Prompt
from playground.services import library, staging
from playground.services.addresses import Addresses, addresses_of

MAX_OPEN = 5
#: A worker says that it lives with every text it has stored; one text takes seconds.
RESEND_AFTER = dt.timedelta(minutes=3)
GIVE_UP_AFTER = dt.timedelta(days=1)
ROWS_FOR = dt.timedelta(days=8)
#: How long texts are looked for that a worker stored into a prompt after its import was cancelled.
LEFTOVERS_FOR = dt.timedelta(minutes=10)
ROWS_A_TURN = 100
_PIECE = 1024 * 1024

#: The task by name, because its module imports this package. In Redis a greater number is served later.
TAKING_IN = staging.Taking(
    status=FileImport.Status.QUEUED,
    moved_at="seen_at",
    task=signature("playground.tasks.run_import", options={"priority": 9}),
    noun="import",
    verb="start",
)


@dataclass(frozen=True, kw_only=True)
class AnnouncedImport:
    """An import and where its bytes go; None once it takes no more."""

    file_import: FileImport
    addresses: Addresses | None


def announce_import(
    *,
    account: User,
    size: int,
    sha256: str,
    file_format: str,
    into: Prompt | None = None,
    part_sha256: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> AnnouncedImport:
    """Announce a file of `size` bytes (`file_format`: zip or json) that the store takes directly.

    Announcing what is still on its way, or being taken in, answers the same import; so does the same key, for ever.
    Raises InvalidInput, TooLarge, RateLimited, IdempotencyKeyReused, StorageUnavailable.
    """
    limit = MAX_JSON_IMPORT_BYTES if file_format == FileImport.Format.JSON else MAX_IMPORT_BYTES
    if size > limit:
        raise TooLarge(f"A file to import may have {limit:,} bytes.", code="file_too_large", field="size")
    row = _row(account, size, staging.hash_of("sha256", sha256), file_format, into)
    row.part_hashes = staging.hashes_of_parts(size, part_sha256)
    made = _once(row, idempotency_key)
    waits = made.takes_bytes(timezone.now())
    return AnnouncedImport(file_import=made, addresses=addresses_of(made) if waits else None)


def hand_over(
    *, account: User, file: IO[bytes], file_format: str, into: Prompt | None, idempotency_key: str | None
) -> FileImport:
    """Stage a file that arrived in a request, and queue it. Raises RateLimited, StorageUnavailable, Conflict."""
    size, digest = _measure(file)
    row = _row(account, size, digest, file_format, into)
    row.status = FileImport.Status.QUEUED
    if earlier := _recall(row, idempotency_key):
        return earlier
    objects.put_file(row.staging_key, file)
    made = _once(row, idempotency_key)
    if made.pk != row.pk:
        objects.delete(row.staging_key)
    return made


def _row(account: User, size: int, sha256: bytes, file_format: str, into: Prompt | None) -> FileImport:
    return FileImport(
        account=account,
        into=into,
        size=size,
        sha256=sha256,
        format=file_format,
        staging_key=f"staging/imports/{secrets.token_urlsafe(24)}",
    )


def _measure(file: IO[bytes]) -> tuple[int, bytes]:
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    file.seek(0)
    return size, digest.digest()


def _fingerprint(row: FileImport) -> bytes:
    return idempotency.fingerprint("file", row.into_id, row.size, bytes(row.sha256).hex(), row.format)


def _recall(row: FileImport, key: str | None) -> FileImport | None:
    found = idempotency.recall(account_id=row.account_id, scope="file-imports", key=key, request=_fingerprint(row))
    return FileImport.objects.get(pk=found) if found else None


def _once(row: FileImport, key: str | None) -> FileImport:
    return idempotency.once(
        account_id=row.account_id,
        scope="file-imports",
        key=key,
        request=_fingerprint(row),
        make=lambda: _find_or_insert(row),
        find=lambda pk: FileImport.objects.get(pk=pk),
    )


def _find_or_insert(row: FileImport) -> tuple[FileImport, uuid.UUID]:
    """The account's row is locked: the same file announced twice at once is one import."""
    User.objects.select_for_update(no_key=True).get(pk=row.account_id)
    now = timezone.now()
    mine = FileImport.objects.of(row.account).open()
    same = mine.filter(sha256=row.sha256, into=row.into, format=row.format)
    if row.status == FileImport.Status.PENDING:
        same = same.filter(~Q(status=FileImport.Status.PENDING) | Q(expires_at__gt=now, part_hashes=row.part_hashes))
    else:
        # Its bytes are here: one that still waits for them elsewhere is another matter.
        same = same.exclude(status=FileImport.Status.PENDING)
    if (earlier := same.order_by("created_at").last()) is not None:
        return earlier, earlier.pk
    if mine.count() >= MAX_OPEN:
        raise RateLimited(
            f"At most {MAX_OPEN} imports may be on their way at once.",
            code="too_many_imports",
            next_step="Wait for one of them, or cancel it.",
            retry_after_s=60,
        )
    row.created_at = row.seen_at = now
    row.expires_at = now + staging.OPEN_FOR
    row.save(force_insert=True)
    if row.status == FileImport.Status.QUEUED:
        effects.enqueue(TAKING_IN.task, str(row.pk))
    return row, row.pk


def start_import(*, file_import: FileImport) -> FileImport:
    """The bytes are there: have a worker take them in. Calling it again answers the state and starts nothing.

    Raises Conflict if they are not there, StorageUnavailable.
    """
    staging.take(file_import, TAKING_IN)
    return file_import


def cancel_import(*, file_import: FileImport) -> None:
    """End an import that nobody wants; nothing of it is kept. One that has failed is no error.

    A worker that is at it finds out at its next step, and cleans up. Raises Conflict once its versions are there.
    """
    ended = end(file_import, "cancelled", "The import was cancelled. Nothing was made.")
    if not ended and FileImport.objects.filter(pk=file_import.pk, status=FileImport.Status.DONE).exists():
        raise Conflict(
            "This import is done: its versions are in the prompt.",
            code="import_done",
            next_step="Put the prompt into the trash if you do not want it.",
        )


def end(file_import: FileImport, code: str, message: str, **conditions: Any) -> bool:
    """Let an open import fail, under `conditions`; its file goes after the commit. False if it is over already."""
    with transaction.atomic():
        rows = FileImport.objects.open().filter(pk=file_import.pk, **conditions)
        row = rows.select_for_update(no_key=True).first()
        if row is None:
            return False
        was_running = row.status == FileImport.Status.RUNNING
        row.status, row.claim, row.ended_at = FileImport.Status.FAILED, None, timezone.now()
        row.error_code, row.error_message = code, message[:1000]
        row.save(update_fields=["status", "claim", "ended_at", "error_code", "error_message"])
        staging.drop(row)
    # While a worker stores texts into it, its prompt cannot go: the worker does that, or the sweep after its death.
    if not was_running or conditions.get("claim"):
        discard(row)
    return True


def discard(file_import: FileImport) -> None:
    """Remove what an import that failed has left: the prompt it was filling, or texts that no version names."""
    if file_import.into_id is not None:
        library.release_unnamed(prompt_id=file_import.into_id, since=file_import.created_at)
    elif file_import.prompt_id is not None and Prompt.objects.filter(pk=file_import.prompt_id, importing=True).exists():
        library.erase(prompt_id=file_import.prompt_id, trashed_before=timezone.now())


def look_after(*, now: dt.datetime | None = None) -> int:
    """Ask again for imports whose worker died or whose message was lost; end what is hopeless; forget what is old.

    Answers how many were asked for again.
    """
    now = now or timezone.now()
    late = Q(status=FileImport.Status.PENDING, expires_at__lt=now - dt.timedelta(hours=1))
    for row in FileImport.objects.filter(late)[:ROWS_A_TURN]:
        end(row, "expired", "The file did not arrive in time. Nothing was made.", status=FileImport.Status.PENDING)
    for row in FileImport.objects.open().filter(created_at__lt=now - GIVE_UP_AFTER)[:ROWS_A_TURN]:
        end(row, "gave_up", "The file could not be taken in for a whole day. Nothing was made.")
    _discard_leftovers(now)
    FileImport.objects.filter(ended_at__lt=now - ROWS_FOR).delete()
    silent = FileImport.objects.filter(
        status__in=[FileImport.Status.QUEUED, FileImport.Status.RUNNING], seen_at__lt=now - RESEND_AFTER
    )
    waiting = list(silent.values_list("pk", flat=True)[:ROWS_A_TURN])
    return sum(staging.take_again(silent, pk, TAKING_IN, now=now, claim=None) for pk in waiting)


def _discard_leftovers(now: dt.datetime) -> None:
    """Of imports that were cancelled under a worker that died before it could clean up."""
    failed = FileImport.objects.filter(status=FileImport.Status.FAILED, ended_at__lt=now - RESEND_AFTER)
    left = Q(prompt__importing=True) | Q(into__isnull=False, ended_at__gt=now - LEFTOVERS_FOR)
    for row in failed.filter(left)[:ROWS_A_TURN]:
        discard(row)
