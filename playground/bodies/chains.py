"""Reading representations: from a text down to the whole copy it rests on, in one query and one round trip to S3."""

from __future__ import annotations

import functools
import logging
import os
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from core import metrics
from core.errors import StorageUnavailable
from playground.bodies import codec, objects
from playground.models import Body

log = logging.getLogger("playground.bodies")

#: Of the whole process: requests that come at once share these threads.
_PARALLEL = 32
_WITH_BASES = """
    WITH RECURSIVE chain AS (
        SELECT * FROM playground_body WHERE id = ANY(%s)
        UNION
        SELECT base.* FROM playground_body base JOIN chain ON base.id = chain.base_id
    )
    SELECT * FROM chain
"""

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The code of a StorageUnavailable: the store answers, with something else than was saved.
UNREADABLE = "body_unreadable"


def with_bases(body_ids: Collection[uuid.UUID]) -> list[Body]:
    """The named representations and all that they rest on, each behind its base. One query."""
    found = Body.objects.raw(_WITH_BASES, [list(body_ids)]) if body_ids else ()
    rows: dict[uuid.UUID | None, Body] = {body.pk: body for body in found}
    ordered: dict[uuid.UUID, Body] = {}
    for body in rows.values():
        path = []
        step: Body | None = body
        while step is not None and step.pk not in ordered:
            path.append(step)
            step = rows.get(step.base_id)
        ordered.update((each.pk, each) for each in reversed(path))
    return list(ordered.values())


def decode_all(bodies: Sequence[Body], wanted: Collection[uuid.UUID]) -> dict[uuid.UUID, bytes]:
    """The texts of `wanted` by body id. `bodies` holds them and their bases, each behind its base.

    Raises StorageUnavailable if the store does not answer or something in the chain is damaged: other bytes than the
    saved ones are never returned. A base's text is let go when the last delta on it is decoded.
    """
    try:
        stored = _stored(bodies)
    except objects.ObjectMissing:
        # A text was repacked since its row was read, and its old object swept; or it is lost.
        bodies = with_bases(wanted)
        stored = _stored(bodies, last_try=True)
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


def _stored(bodies: Sequence[Body], *, last_try: bool = False) -> dict[uuid.UUID, bytes]:
    """What is stored of each by its id: from the rows, or else from the store, all at once.

    Raises ObjectMissing; at the last try StorageUnavailable, as for any damage.
    """
    stored = {body.pk: bytes(body.inline) for body in bodies if body.inline is not None}
    remote = [body for body in bodies if body.inline is None]
    metrics.BODY_READS.labels("row").inc(len(stored))
    metrics.BODY_READS.labels("object").inc(len(remote))

    def fetch(body: Body) -> bytes:
        try:
            return objects.get(body.object_key)
        except objects.ObjectMissing as error:
            raise (_unreadable(body, error) if last_try else error) from error

    return stored | dict(zip((body.pk for body in remote), in_parallel(fetch, remote), strict=True))


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
        code=UNREADABLE,
        kept="Versions that do not rest on it are not affected.",
        next_step="Tell the operator the request id.",
    )


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Kept: a pool a read costs more than what it fetches. Threads start when they are needed."""
    return ThreadPoolExecutor(max_workers=_PARALLEL, thread_name_prefix="objects")


os.register_at_fork(after_in_child=_threads.cache_clear)


def in_parallel(call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`call`, which does not call this again, on each item at once: many objects cost one round trip.

    The caller's thread takes the first one, so a single item needs no other. Raises what the first failing one raised,
    when all have ended.
    """
    others = [_threads().submit(call, item) for item in items[1:]]
    try:
        return [call(item) for item in items[:1]] + [other.result() for other in others]
    finally:
        wait(others)
