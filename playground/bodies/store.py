"""What the rest of the product calls: put texts before a save, insert their rows with it, read them back.

A save does `stage` (network, no transaction), then `commit` inside the transaction that inserts the version. A crash
between the two leaves objects that no row names, which costs space and nothing else.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from core import metrics
from core.errors import StorageUnavailable
from core.ids import new_id
from playground.bodies import codec, objects
from playground.models import Body, Prompt

log = logging.getLogger("playground.bodies")

#: A representation up to this size is also kept in its row, so that most reads need no S3 call.
INLINE_BYTES = 16 * 1024
_PARALLEL = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class StagedBody:
    """A text whose object is in the store but whose row is not inserted yet."""

    body_id: uuid.UUID
    object_key: str
    encoded: codec.Encoded


def stage(*, prompt: Prompt, texts: Iterable[bytes]) -> list[StagedBody]:
    """Store the texts that this prompt does not have yet; not to be called inside a transaction.

    Raises StorageUnavailable; then nothing was saved.
    """
    fresh = {encoded.sha256: encoded for encoded in (codec.encode_snapshot(text) for text in set(texts))}
    known = Body.objects.filter(prompt=prompt, sha256__in=list(fresh)).values_list("sha256", flat=True)
    for sha256 in known:
        fresh.pop(bytes(sha256))
    staged = []
    for encoded in fresh.values():
        body_id = new_id()
        key = f"bodies/{prompt.pk}/{body_id}"
        staged.append(StagedBody(body_id=body_id, object_key=key, encoded=encoded))
    _in_parallel(lambda body: objects.put(body.object_key, body.encoded.data), staged)
    return staged


def commit(*, prompt: Prompt, staged: Sequence[StagedBody]) -> None:
    """Insert the rows of staged texts inside the caller's transaction.

    A twin that committed first keeps its row: equal SHA-256 is equal bytes, and ours becomes an unnamed object.
    """
    Body.objects.bulk_create(
        [
            Body(
                id=body.body_id,
                prompt=prompt,
                sha256=body.encoded.sha256,
                byte_length=body.encoded.byte_length,
                codec=Body.Codec.SNAPSHOT,
                stored_length=len(body.encoded.data),
                object_key=body.object_key,
                inline=body.encoded.data if len(body.encoded.data) <= INLINE_BYTES else None,
            )
            for body in staged
        ],
        ignore_conflicts=True,
    )


def lengths(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, int]:
    """Byte length by hex SHA-256 of the named texts that this prompt has; unknown ones are absent."""
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    rows = Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted).values_list("sha256", "byte_length")
    return {bytes(sha256).hex(): length for sha256, length in rows}


def read(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, str]:
    """The texts of this prompt by hex SHA-256, each compared with its hash.

    Raises StorageUnavailable, also for a damaged text: it says so instead of showing other bytes. KeyError never:
    a version's texts are inserted with it.
    """
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    bodies = list(Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted))
    texts = _in_parallel(_read_one, bodies)
    return {bytes(body.sha256).hex(): text for body, text in zip(bodies, texts, strict=True)}


def _read_one(body: Body) -> str:
    try:
        data = bytes(body.inline) if body.inline is not None else objects.get(body.object_key)
        metrics.BODY_READS.labels("row" if body.inline is not None else "object").inc()
        text = codec.decode(data, sha256=bytes(body.sha256), byte_length=body.byte_length)
    except (codec.CorruptBody, objects.ObjectMissing) as error:
        metrics.BODY_CORRUPT.inc()
        log.error("body unreadable", extra={"body": str(body.pk), "reason": type(error).__name__})
        raise StorageUnavailable(
            "A text of this version is damaged in the store and is not shown.",
            code="body_unreadable",
            kept="Other versions are not affected.",
            next_step="Tell the operator the request id.",
        ) from error
    return text.decode("utf-8")


def _in_parallel(call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`call` on each item at once, so that many objects cost one round trip; a single one needs no thread."""
    if len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(max_workers=_PARALLEL) as pool:
        return list(pool.map(call, items))
