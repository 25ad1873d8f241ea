"""Where the bytes of an upload go: signed addresses, for a while, for what has not arrived."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from playground.bodies import objects, parts
from playground.models import StagedFile
from playground.models.staged_file import PENDING

ADDRESS_LIVES = dt.timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True)
class PartAddress:
    """A part and where it goes; `put` is None if it is there."""

    part: parts.Part
    put: objects.SignedPut | None


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """All bytes to `put`, or each part that is missing to its own; `parts` is empty if none were announced."""

    put: objects.SignedPut
    parts: Sequence[PartAddress]
    expires_at: dt.datetime


def addresses_of(upload: StagedFile) -> Addresses:
    """Fresh ones, good for ADDRESS_LIVES or as long as the upload takes bytes. Raises StorageUnavailable."""
    now = timezone.now()
    seconds = max(1, int(min(ADDRESS_LIVES, upload.expires_at - now).total_seconds()))
    return Addresses(
        put=objects.sign_put(upload.staging_key, size=upload.size, sha256=bytes(upload.sha256), seconds=seconds),
        parts=_part_addresses(upload, seconds),
        expires_at=now + dt.timedelta(seconds=seconds),
    )


def _part_addresses(upload: StagedFile, seconds: int) -> Sequence[PartAddress]:
    wanted = parts_of(upload)
    there = _arrived(upload, wanted) if wanted else set()
    return [
        PartAddress(
            part=part,
            put=None
            if part.number in there
            else parts.sign(upload.staging_key, upload.multipart_id, part, seconds=seconds),
        )
        for part in wanted
    ]


def parts_of(upload: StagedFile) -> Sequence[parts.Part]:
    """The parts that were announced; none if all bytes come at once."""
    return parts.cut(upload.size, bytes(upload.part_hashes)) if upload.part_hashes else []


def _arrived(upload: StagedFile, wanted: Sequence[parts.Part]) -> set[int]:
    """Numbers of the parts that are there."""
    if upload.status != PENDING or is_there(upload):
        return {part.number for part in wanted}
    try:
        there = parts.received(upload.staging_key, upload.multipart_id) if upload.multipart_id else None
    except objects.ObjectMissing:
        there = None  # the store's own rule for old parts was faster
    if there is None:
        _begin(upload)
        return set()
    return {part.number for part in wanted if part.number in there and there[part.number].size == part.size}


def _begin(upload: StagedFile) -> None:
    """Have the store await parts. Of two calls at once one is kept; the other takes back what it began."""
    begun = parts.begin(upload.staging_key)
    waiting = type(upload).objects.filter(pk=upload.pk, status=PENDING, multipart_id=upload.multipart_id)
    if not waiting.update(multipart_id=begun):
        parts.abort(upload.staging_key, begun)
    upload.refresh_from_db(fields=["multipart_id", "status"])


def is_there(upload: StagedFile) -> bool:
    """Whether there is an object under the staging key. Raises StorageUnavailable."""
    try:
        objects.length(upload.staging_key)
    except objects.ObjectMissing:
        return False
    return True


def join_parts(upload: StagedFile) -> bool:
    """Make one object of the parts, if all are there. Raises StorageUnavailable."""
    if not upload.multipart_id:
        return False
    try:
        return parts.join(upload.staging_key, upload.multipart_id, parts_of(upload))
    except objects.ObjectMissing:
        return is_there(upload)  # a twin of this call was faster
