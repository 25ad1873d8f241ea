"""Files of test cases: announced, sent to the store directly, read by a worker (`services.reading`), looked after."""

from __future__ import annotations

import datetime as dt
import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from celery import signature
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from batches.models import Dataset, DatasetFile, RowSet
from batches.rows import MOST_BYTES
from batches.services.datasets import clean_name, refuse_too_many
from core import idempotency
from core.errors import InvalidInput, RateLimited, TooLarge
from playground.models import Prompt
from playground.services import Addresses, addresses_of, staging

MOST_OPEN = 5
#: A worker says that it lives with every chunk it has stored, and a chunk takes milliseconds.
RESEND_AFTER = dt.timedelta(minutes=2)
GIVE_UP_AFTER = dt.timedelta(hours=6)
ROWS_A_TURN = 100

#: The task by name, because its module imports this package. In Redis a greater number is served later.
READING = staging.Taking(
    status=DatasetFile.Status.QUEUED,
    moved_at="seen_at",
    task=signature("batches.tasks.read_file", options={"priority": 6}),
    noun="file",
    verb="complete",
)


@dataclass(frozen=True, kw_only=True)
class AnnouncedDataset:
    """A dataset whose file is awaited, and where its bytes go; None once it takes no more."""

    dataset: Dataset
    addresses: Addresses | None


def announce_file(
    *,
    account: User,
    prompt: Prompt,
    name: str,
    file_format: str,
    size: int,
    sha256: str,
    part_sha256: Sequence[str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    expected: str | None = None,
    skips_bad_rows: bool = False,
    idempotency_key: str | None = None,
) -> AnnouncedDataset:
    """Announce a file of test cases that the store takes directly. The same key answers the same dataset.

    Raises InvalidInput, TooLarge, RateLimited, IdempotencyKeyReused, StorageUnavailable.
    """
    if size > MOST_BYTES:
        raise TooLarge(f"A file of test cases may have {MOST_BYTES:,} bytes.", code="file_too_large", field="size")
    if size < 1:
        raise InvalidInput("An empty file has no test cases.", field="size")
    dataset = Dataset(prompt=prompt, maker=account, name=clean_name(name))
    file = DatasetFile(
        dataset=dataset,
        account=account,
        size=size,
        sha256=staging.hash_of("sha256", sha256),
        part_hashes=staging.hashes_of_parts(size, part_sha256),
        staging_key=f"staging/{prompt.pk}/{secrets.token_urlsafe(24)}",
        format=file_format,
        columns=json.dumps(dict(columns or {})),
        expected=json.dumps(expected),
        skips_bad_rows=skips_bad_rows,
    )
    made = idempotency.once(
        account_id=account.pk,
        scope="datasets",
        key=idempotency_key,
        request=idempotency.fingerprint(prompt.pk, dataset.name, file_format, size, sha256, columns, expected),
        make=lambda: _insert(dataset, file),
        find=lambda pk: Dataset.objects.select_related("rows", "file").get(pk=pk),
    )
    return AnnouncedDataset(dataset=made, addresses=where_to_send(made.file))


def where_to_send(file: DatasetFile) -> Addresses | None:
    """Fresh addresses for what has not arrived; None once it takes no bytes. Raises StorageUnavailable."""
    return addresses_of(file) if file.takes_bytes(timezone.now()) else None


def _insert(dataset: Dataset, file: DatasetFile) -> tuple[Dataset, uuid.UUID]:
    """The account's row is locked: announcements at once cannot slip past its share."""
    User.objects.select_for_update(no_key=True).get(pk=file.account_id)
    refuse_too_many(dataset.prompt)
    if DatasetFile.objects.open().filter(account=file.account).count() >= MOST_OPEN:
        raise RateLimited(
            f"At most {MOST_OPEN} files of test cases may be on their way at once.",
            code="too_many_files",
            next_step="Wait for one of them, or delete it.",
            retry_after_s=60,
        )
    now = timezone.now()
    file.created_at = file.seen_at = now
    file.expires_at = now + staging.OPEN_FOR
    dataset.save(force_insert=True)
    file.dataset = dataset
    file.save(force_insert=True)
    return dataset, dataset.pk


def complete_file(*, file: DatasetFile) -> DatasetFile:
    """The bytes are there: have a worker read them. Calling it again answers the state and starts nothing.

    Raises Conflict if they are not there, StorageUnavailable.
    """
    staging.take(file, READING)
    return file


def end(file: DatasetFile, code: str, message: str, **conditions: object) -> bool:
    """Let an open file fail, under `conditions`; its bytes go after the commit. False if it is over already."""
    with transaction.atomic():
        row = DatasetFile.objects.open().filter(pk=file.pk, **conditions).select_for_update(no_key=True).first()
        if row is None:
            return False
        row.status, row.claim, row.ended_at = DatasetFile.Status.FAILED, None, timezone.now()
        row.error_code, row.error_message = code, message[:1000]
        row.save(update_fields=["status", "claim", "ended_at", "error_code", "error_message"])
        staging.drop(row)
        return True


def look_after(*, now: dt.datetime | None = None) -> int:
    """Ask again for files whose worker died or whose message was lost; end what is hopeless. Answers how many."""
    now = now or timezone.now()
    late = Q(status=DatasetFile.Status.PENDING, expires_at__lt=now - dt.timedelta(hours=1))
    for row in DatasetFile.objects.filter(late)[:ROWS_A_TURN]:
        end(row, "expired", "The file did not arrive in time.", status=DatasetFile.Status.PENDING)
    for row in DatasetFile.objects.open().filter(created_at__lt=now - GIVE_UP_AFTER)[:ROWS_A_TURN]:
        end(row, "gave_up", "The file could not be read for hours. Import it again.")
    # Of workers that died in the middle of a file.
    RowSet.objects.filter(datasets=None, batches=None, created_at__lt=now - GIVE_UP_AFTER).delete()
    silent = DatasetFile.objects.filter(
        status__in=[DatasetFile.Status.QUEUED, DatasetFile.Status.READING], seen_at__lt=now - RESEND_AFTER
    )
    waiting = list(silent.values_list("pk", flat=True)[:ROWS_A_TURN])
    return sum(staging.take_again(silent, pk, READING, now=now, claim=None) for pk in waiting)
