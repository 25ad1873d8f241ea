"""Reading representations: from a text down to the whole copy it rests on, in one query and one round trip to S3."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from core import metrics
from core.errors import StorageUnavailable
from playground.bodies import codec, objects
from playground.models import Body

log = logging.getLogger("playground.bodies")

_PARALLEL = 8
_WITH_BASES = """
    WITH RECURSIVE chain AS (
        SELECT * FROM playground_body WHERE id = ANY(%s)
        UNION
        SELECT base.* FROM playground_body base JOIN chain ON base.id = chain.base_id
    )
    SELECT * FROM chain ORDER BY depth
"""

Item = TypeVar("Item")
Result = TypeVar("Result")


def with_bases(body_ids: Collection[uuid.UUID]) -> list[Body]:
    """The named representations and all that they rest on, whole copies first. One query."""
    return list(Body.objects.raw(_WITH_BASES, [list(body_ids)])) if body_ids else []


def decode_all(bodies: Sequence[Body], wanted: Collection[uuid.UUID]) -> dict[uuid.UUID, bytes]:
    """The texts of `wanted` by body id. `bodies` holds them and their bases, whole copies first.

    Raises StorageUnavailable if the store does not answer or something in the chain is damaged: other bytes than the
    saved ones are never returned. A base's text is let go when the last delta on it is decoded.
    """
    stored = dict(zip((body.pk for body in bodies), in_parallel(_fetch, bodies), strict=True))
    waiting: dict[uuid.UUID | None, int] = {}
    for body in bodies:
        waiting[body.base_id] = waiting.get(body.base_id, 0) + 1
    texts: dict[uuid.UUID, bytes] = {}
    for body in bodies:
        texts[body.pk] = _decode(body, stored.pop(body.pk), texts, compare=body.pk in wanted)
        waiting[body.base_id] -= 1
        if body.base_id and not waiting[body.base_id] and body.base_id not in wanted:
            del texts[body.base_id]
    return {pk: text for pk, text in texts.items() if pk in wanted}


def _fetch(body: Body) -> bytes:
    if body.inline is not None:
        metrics.BODY_READS.labels("row").inc()
        return bytes(body.inline)
    metrics.BODY_READS.labels("object").inc()
    try:
        return objects.get(body.object_key)
    except objects.ObjectMissing as error:
        raise _unreadable(body, error) from error


def _decode(body: Body, data: bytes, texts: dict[uuid.UUID, bytes], *, compare: bool) -> bytes:
    base = texts[body.base_id] if body.base_id else None
    sha256 = bytes(body.sha256) if compare else None
    try:
        return codec.decode(data, sha256=sha256, byte_length=body.byte_length, base=base)
    except codec.CorruptBody as error:
        raise _unreadable(body, error) from error


def _unreadable(body: Body, error: Exception) -> StorageUnavailable:
    metrics.BODY_CORRUPT.inc()
    log.error("body unreadable", extra={"body": str(body.pk), "reason": type(error).__name__})
    return StorageUnavailable(
        "A text of this version is damaged in the store and is not shown.",
        code="body_unreadable",
        kept="Versions that do not rest on it are not affected.",
        next_step="Tell the operator the request id.",
    )


def in_parallel(call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`call` on each item at once, so that many objects cost one round trip; a single one needs no thread."""
    if len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(max_workers=_PARALLEL) as pool:
        return list(pool.map(call, items))
