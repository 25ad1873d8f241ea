"""Idempotency keys: a creating call with the same key makes one object, however often it arrives.

The key row is inserted in the same transaction as the object, so there is no state in between: a concurrent twin waits
on the unique index until the first commits, then reads whose object it is; a rolled-back first leaves no trace.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db import models, transaction
from django.utils import timezone

from core.errors import Conflict, IdempotencyKeyReused, InvalidInput

MAX_KEY_LENGTH = 255
REMEMBERED_FOR = timedelta(days=7)
Made = TypeVar("Made")


class IdempotencyKey(models.Model):
    """(account, scope, key) -> the id of the object that the first call made."""

    account_id = models.UUIDField()
    scope = models.CharField(max_length=64)
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    fingerprint = models.BinaryField(max_length=32)
    object_id = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account_id", "scope", "key"], name="idempotency_key_once"),
        ]


#: What `claim` does, as a part of the one statement that makes the object, for `claim_values` and its `id` and `now`.
#: To be followed by the FROM of what was made; a key that another call holds makes it return nothing.
CLAIMED = """
    claimed AS (
        INSERT INTO core_idempotencykey (account_id, scope, key, fingerprint, object_id, created_at)
        SELECT %(key_account_id)s::uuid, %(key_scope)s::text, %(key)s::text, %(key_request)s::bytea, %(id)s, %(now)s
"""


def claim_values(*, account_id: uuid.UUID, scope: str, key: str | None, request: bytes) -> dict[str, Any]:
    """Raises InvalidInput as `check_key` does."""
    if key is not None:
        check_key(key)
    return {"key_account_id": account_id, "key_scope": scope, "key": key, "key_request": request}


def fingerprint(*parts: object) -> bytes:
    """SHA-256 over what the call asks for, so that one key cannot silently stand for two different requests."""
    encoded = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(encoded.encode("ascii")).digest()


def check_key(key: str) -> None:
    """Raises InvalidInput for a key that is too long, or empty, or no line of text."""
    if not 0 < len(key) <= MAX_KEY_LENGTH or not key.isprintable():
        raise InvalidInput(
            f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} printable characters.", field="Idempotency-Key"
        )


def recall(*, account_id: uuid.UUID, scope: str, key: str | None, request: bytes) -> uuid.UUID | None:
    """The object an earlier call with this key made, or None.

    Raises IdempotencyKeyReused if that call asked for something else, InvalidInput as `check_key` does.
    """
    if key is None:
        return None
    check_key(key)
    row = IdempotencyKey.objects.filter(account_id=account_id, scope=scope, key=key).first()
    if row is None:
        return None
    if bytes(row.fingerprint) != request:
        raise IdempotencyKeyReused(field="Idempotency-Key")
    return row.object_id


def claim(*, account_id: uuid.UUID, scope: str, key: str | None, request: bytes, object_id: uuid.UUID) -> bool:
    """Tie the key to `object_id` inside the caller's transaction; False if another call already holds it.

    On False the caller rolls back and calls `recall`. ON CONFLICT DO NOTHING waits for an uncommitted twin, and does
    not abort the transaction as a unique violation would.
    """
    if key is None:
        return True
    IdempotencyKey.objects.bulk_create(
        [IdempotencyKey(account_id=account_id, scope=scope, key=key, fingerprint=request, object_id=object_id)],
        ignore_conflicts=True,
    )
    return IdempotencyKey.objects.filter(account_id=account_id, scope=scope, key=key, object_id=object_id).exists()


class MadeAndDeleted(Conflict):
    """Making it anew would do twice what was asked for once."""

    code = "made_and_deleted"
    default_message = "What the first call with this Idempotency-Key made was deleted since."
    default_kept = "Nothing was made now."
    default_next_step = "Use a new key to make another."


def found_before(
    *, account_id: uuid.UUID, scope: str, key: str | None, request: bytes, find: Callable[[uuid.UUID], Made]
) -> Made | None:
    """What `once` would find of an earlier call with this key, or None.

    For a caller that has to read or refuse before it makes anything: what the first call was allowed, its repetition is
    told, whatever changed since. Raises IdempotencyKeyReused, MadeAndDeleted, InvalidInput.
    """
    earlier = recall(account_id=account_id, scope=scope, key=key, request=request)
    return None if earlier is None else _found(find, earlier)


class _Lost(Exception):
    """A twin with the same key committed first; what this call made is rolled back."""


def once(
    *,
    account_id: uuid.UUID,
    scope: str,
    key: str | None,
    request: bytes,
    make: Callable[[], tuple[Made, uuid.UUID]],
    find: Callable[[uuid.UUID], Made],
) -> Made:
    """What `make` makes (in one transaction, with its id), or what `find` finds of an earlier call with this key.

    Raises IdempotencyKeyReused, MadeAndDeleted, InvalidInput, and whatever `make` raises.
    """
    earlier = found_before(account_id=account_id, scope=scope, key=key, request=request, find=find)
    if earlier is not None:
        return earlier
    try:
        with transaction.atomic():
            made, object_id = make()
            if not claim(account_id=account_id, scope=scope, key=key, request=request, object_id=object_id):
                raise _Lost
            return made
    except _Lost:
        winner = recall(account_id=account_id, scope=scope, key=key, request=request)
        if winner is None:
            raise Conflict from None
        return _found(find, winner)


def _found(find: Callable[[uuid.UUID], Made], object_id: uuid.UUID) -> Made:
    try:
        return find(object_id)
    except ObjectDoesNotExist:
        raise MadeAndDeleted from None


def forget_old() -> int:
    """Drop the keys that are past REMEMBERED_FOR, and say how many; the same key would then make a new object."""
    removed, _ = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - REMEMBERED_FOR).delete()
    return removed
