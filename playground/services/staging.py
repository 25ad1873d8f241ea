"""The life of a staged file, be it an upload or an import: announced, awaited, taken by a worker once, dropped.

A status only moves by conditional changes, so that of two calls at once one does something and the other finds it done.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celery.canvas import Signature
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import effects
from core.errors import Conflict, InvalidInput
from playground.bodies import objects, parts
from playground.models import StagedFile
from playground.models.staged_file import PENDING
from playground.services.addresses import is_there, join_parts

#: How long after its announcement addresses are given. Cuts and reloads of the page may lie between.
OPEN_FOR = dt.timedelta(hours=2)


@dataclass(frozen=True, kw_only=True)
class Taking:
    """How a kind of staged file is handed to its worker, and what it is called when it cannot be yet."""

    status: str
    moved_at: str
    task: Signature[Any]
    noun: str
    verb: str


def hash_of(field: str, written: str) -> bytes:
    """The bytes of a SHA-256 in hex. Raises InvalidInput."""
    if len(written) != 64 or set(written) - set("0123456789abcdef"):
        raise InvalidInput("A SHA-256 is written as 64 hex digits in lower case.", field=field)
    return bytes.fromhex(written)


def hashes_of_parts(size: int, written: Sequence[str] | None) -> bytes | None:
    """The hashes of all parts of `size` bytes, one behind the other. Raises InvalidInput."""
    if written is None:
        return None
    if len(written) != parts.count(size) or not written:
        raise InvalidInput(
            f"{size:,} bytes are {parts.count(size)} parts of {parts.PART_BYTES:,}, not {len(written)}.",
            field="part_sha256",
        )
    return b"".join(hash_of("part_sha256", each) for each in written)


def take(file: StagedFile, taking: Taking) -> None:
    """The bytes are there: hand them to a worker, once. Of a file that is not awaited any more nothing is asked.

    Raises Conflict if they are not there, StorageUnavailable; the file then awaits them as before.
    """
    if file.status == PENDING and (is_there(file) or join_parts(file)):
        _hand_over(type(file).objects.filter(pk=file.pk, status=PENDING), file.pk, taking, timezone.now())
    # A twin of this call may have been so much faster that the bytes are read and no longer staged.
    file.refresh_from_db()
    if file.status == PENDING:
        raise Conflict(
            f"The bytes of this {taking.noun} have not arrived.",
            code="not_uploaded",
            kept=f"The {taking.noun} still takes them until its address expires.",
            next_step=f"PUT them to the address with the headers given, then {taking.verb} it.",
        )


def take_again(silent: QuerySet[Any], pk: uuid.UUID, taking: Taking, *, now: dt.datetime, **values: Any) -> bool:
    """Ask once more for the one of `silent` files whose worker died or whose message was lost. False if it moved."""
    return _hand_over(silent.filter(pk=pk), pk, taking, now, **values)


def _hand_over(rows: QuerySet[Any], pk: uuid.UUID, taking: Taking, now: dt.datetime, **values: Any) -> bool:
    with transaction.atomic():
        taken = bool(rows.update(**{"status": taking.status, taking.moved_at: now}, **values))
        if taken:
            effects.enqueue(taking.task, str(pk))
        return taken


def drop(file: StagedFile) -> None:
    """Remove its bytes after the commit. What is put there later (an address lives for minutes) is swept."""
    effects.after_commit(objects.delete, file.staging_key)
    if file.multipart_id:
        effects.after_commit(parts.abort, file.staging_key, file.multipart_id)
