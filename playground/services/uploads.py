"""Uploads: signed addresses, then `complete`, then the packing task (`services.packing`) that makes a text of it."""

from __future__ import annotations

import datetime as dt
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from celery import signature
from django.db import transaction
from django.db.models import Exists, OuterRef, Sum
from django.utils import timezone

from accounts.models import User
from core import idempotency
from core.errors import Conflict, InvalidInput, RateLimited, TooLarge
from playground.models import MAX_UPLOAD_BYTES, Body, Prompt, Upload
from playground.services import staging
from playground.services.addresses import Addresses, addresses_of

MAX_OPEN = 20
#: Of one account: bytes of uploads that are open, or complete and not part of a version yet.
MAX_WAITING_BYTES = 1024 * 1024 * 1024
#: How long a text waits for a version to name it.
UNREFERENCED_FOR = dt.timedelta(days=7)

#: The task by name, because its module imports this package. In Redis a greater number is served later.
PACKING = staging.Taking(
    status=Upload.Status.PROCESSING,
    moved_at="processing_at",
    task=signature("playground.tasks.pack_upload", options={"priority": 6}),
    noun="upload",
    verb="complete",
)


@dataclass(frozen=True, kw_only=True)
class StartedUpload:
    """An upload and where its bytes go."""

    upload: Upload
    addresses: Addresses


def start_upload(
    *,
    account: User,
    prompt: Prompt,
    size: int,
    sha256: str,
    near: str | None = None,
    part_sha256: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> StartedUpload:
    """Announce a text of `size` bytes. `near` is the SHA-256 of the text it was edited from, a hint that may be wrong.

    Whether the prompt has the text already changes nothing. With `part_sha256`, of each `parts.PART_BYTES` of it, it
    may be sent in parts; announcing the same again while that goes on answers the same upload, without the parts
    that are there. The same key answers the same upload and fresh addresses.
    Raises InvalidInput, TooLarge, RateLimited, IdempotencyKeyReused, StorageUnavailable, Conflict (the key's upload
    takes no bytes now).
    """
    if size > MAX_UPLOAD_BYTES:
        raise TooLarge(f"A text may have {MAX_UPLOAD_BYTES:,} bytes.", code="text_too_large", field="size")
    if size < 0:
        raise InvalidInput("A size is not negative.", field="size")
    upload = Upload(
        prompt=prompt,
        account=account,
        size=size,
        sha256=staging.hash_of("sha256", sha256),
        near=staging.hash_of("near", near) if near else None,
        part_hashes=staging.hashes_of_parts(size, part_sha256),
        staging_key=f"staging/{prompt.pk}/{secrets.token_urlsafe(24)}",
    )
    made = idempotency.once(
        account_id=account.pk,
        scope="uploads",
        key=idempotency_key,
        request=idempotency.fingerprint(prompt.pk, size, sha256, near, *(part_sha256 or ())),
        make=lambda: _find_or_insert(upload),
        find=lambda pk: _still_open(account, pk),
    )
    return StartedUpload(upload=made, addresses=addresses_of(made))


def _find_or_insert(upload: Upload) -> tuple[Upload, uuid.UUID]:
    """The account's row is locked: announcements at once find each other, and cannot slip past its share."""
    User.objects.select_for_update(no_key=True).get(pk=upload.account_id)
    now = timezone.now()
    if upload.part_hashes:
        same = Upload.objects.of(upload.account).going_on(
            prompt=upload.prompt, sha256=bytes(upload.sha256), part_hashes=bytes(upload.part_hashes), now=now
        )
        if (earlier := same.order_by("created_at").last()) is not None:
            return earlier, earlier.pk
    _refuse_too_many(upload.account, upload.size)
    upload.created_at, upload.expires_at = now, now + staging.OPEN_FOR
    upload.save(force_insert=True)
    return upload, upload.pk


def _refuse_too_many(account: User, size: int) -> None:
    """Raise RateLimited beyond an account's share."""
    mine = Upload.objects.of(account)
    text = Body.objects.filter(prompt=OuterRef("prompt"), sha256=OuterRef("body_sha256"))
    unnamed = mine.filter(Exists(text.filter(unreferenced_since__isnull=False)), status=Upload.Status.COMPLETE)
    waiting = [uploads.aggregate(bytes=Sum("size"))["bytes"] or 0 for uploads in (mine.open(), unnamed)]
    if mine.open().count() >= MAX_OPEN or sum(waiting) + size > MAX_WAITING_BYTES:
        raise RateLimited(
            f"At most {MAX_OPEN} uploads and {MAX_WAITING_BYTES:,} bytes may be on their way at once.",
            code="too_many_uploads",
            next_step="Finish those you started, or save the version that uses them. One left alone ends in 3 hours.",
            retry_after_s=60,
        )


def _still_open(account: User, pk: uuid.UUID) -> Upload:
    """The upload that an earlier call with the same key started."""
    upload = Upload.objects.of(account).filter(pk=pk).first()
    if upload is None or not upload.takes_bytes(timezone.now()):
        raise Conflict(
            "The upload of this Idempotency-Key takes no more bytes.",
            code="upload_closed",
            data={"id": str(pk)},
            next_step="Look at its state; start another one with a new key if it failed.",
        )
    return upload


def complete_upload(*, upload: Upload) -> Upload:
    """The bytes are there: have them checked and packed. Calling it again answers the state and starts nothing.

    Raises Conflict if they are not there, StorageUnavailable; the upload then awaits them as before.
    """
    staging.take(upload, PACKING)
    return upload


def cancel_upload(*, upload: Upload) -> None:
    """End an upload that nobody wants: it counts no more, and its bytes go. One that has ended is no error.

    Raises Conflict while its bytes are being read, and for good once a version has its text.
    """
    with transaction.atomic():
        mine = Upload.objects.select_for_update(no_key=True).get(pk=upload.pk)
        if mine.status == Upload.Status.FAILED:
            return
        if mine.status == Upload.Status.PROCESSING:
            raise Conflict(
                "The bytes of this upload are being checked and stored at the moment.",
                code="upload_processing",
                kept="It becomes part of nothing unless a version names it.",
                next_step="Cancel it again in a few seconds, or leave it: unused, its text is removed after 7 days.",
            )
        if mine.status == Upload.Status.COMPLETE:
            _give_up_text(mine)
        mine.status, mine.error_code = Upload.Status.FAILED, "cancelled"
        mine.body_sha256, mine.completed_at = None, timezone.now()
        mine.save(update_fields=["status", "error_code", "body_sha256", "completed_at"])
        staging.drop(mine)


def _give_up_text(upload: Upload) -> None:
    """Let the next sweep take the text, if no other upload brought it too; a save that is at it keeps it (`hold`)."""
    same = Body.objects.filter(prompt=upload.prompt_id, sha256=upload.body_sha256)
    text = same.select_for_update(no_key=True).first()
    if text is not None and text.unreferenced_since is None:
        raise Conflict(
            "The text of this upload is part of a version.",
            code="upload_in_version",
            kept="The version stays as it is, and the upload counts against no limit any more.",
            next_step="To take the text out, save a version without it.",
        )
    others = Upload.objects.filter(
        prompt=upload.prompt_id, body_sha256=upload.body_sha256, status=Upload.Status.COMPLETE
    ).exclude(pk=upload.pk)
    if text is not None and not others.exists():
        same.update(unreferenced_since=timezone.now() - UNREFERENCED_FOR)
