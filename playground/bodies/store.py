"""What the rest of the product calls: put texts before a save, insert their rows with it, read them back.

A save does `stage` (network, no transaction), then `commit` inside the transaction that inserts the version. A crash
between the two leaves objects that no row names, which costs space and nothing else.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from core.errors import StorageUnavailable
from core.ids import new_id
from playground.bodies import chains, codec, objects, placement
from playground.models import Body, Prompt

#: A representation up to this size is also kept in its row, so that most reads need no S3 call.
INLINE_BYTES = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text to keep. `near` is the hex SHA-256 of the text it was edited from, if any: what it may be a delta of."""

    data: bytes
    near: str | None = None


@dataclass(frozen=True, kw_only=True)
class StagedBody:
    """A text whose object is in the store but whose row is not inserted yet."""

    body_id: uuid.UUID
    object_key: str
    encoded: codec.Encoded
    base_id: uuid.UUID | None = None
    depth: int = 0
    is_base: bool = True


def stage(*, prompt: Prompt, texts: Iterable[Text]) -> list[StagedBody]:
    """Store the texts that this prompt does not have yet; not to be called inside a transaction.

    Raises StorageUnavailable; then nothing was saved.
    """
    fresh = {hashlib.sha256(text.data).digest(): text for text in texts}
    known = Body.objects.filter(prompt=prompt, sha256__in=list(fresh)).values_list("sha256", flat=True)
    for sha256 in known:
        fresh.pop(bytes(sha256))
    staged = [_represent(prompt, text) for text in fresh.values()]
    chains.in_parallel(lambda body: objects.put(body.object_key, body.encoded.data), staged)
    return staged


def _represent(prompt: Prompt, text: Text) -> StagedBody:
    body_id = new_id()
    key = f"bodies/{prompt.pk}/{body_id}"
    placed = _place_near(prompt, text) if text.near and len(text.data) <= codec.MAX_TEXT_BYTES else None
    if placed is None:
        return StagedBody(body_id=body_id, object_key=key, encoded=codec.encode_snapshot(text.data))
    encoded, base, serves = placed
    return StagedBody(
        body_id=body_id, object_key=key, encoded=encoded, base_id=base.key, depth=base.depth + 1, is_base=serves
    )


def _place_near(prompt: Prompt, text: Text) -> tuple[codec.Encoded, placement.Base[uuid.UUID], bool] | None:
    """The delta, its base and whether it serves as one; None if a whole copy is the better form."""
    near = Body.objects.filter(prompt=prompt, sha256=bytes.fromhex(text.near or "")).first()
    if near is None:
        return None
    chain = chains.with_bases([near.pk])
    path = _path(chain)
    whole_length = chain[0].stored_length
    candidates = placement.tries(path, len(text.data))
    try:
        bases = chains.decode_all(chain, {base.key for base in candidates})
    except StorageUnavailable:
        # A damaged base must not keep anybody from saving; and if the store is down, storing the whole copy says so.
        return None
    for base in candidates:
        if len(bases[base.key]) < codec.MIN_BASE_BYTES:
            continue
        encoded = codec.encode_delta(text.data, bases[base.key])
        length = len(encoded.data)
        if placement.fits(base, length, whole_length=whole_length):
            serves = placement.is_base(
                delta_length=length, whole_length=whole_length, moved_up=base is not candidates[0]
            )
            return encoded, base, serves
    return None


def _path(chain: Sequence[Body]) -> list[placement.Base[uuid.UUID]]:
    """The bases of a chain, whole copy first, with what is stored on each."""
    serving = [body for body in chain if body.is_base]
    sums = (
        Body.objects.filter(base_id__in=[body.pk for body in serving])
        .values_list("base_id")
        .annotate(used=Sum("stored_length"))
    )
    used = dict(sums)
    return [
        placement.Base(key=body.pk, depth=body.depth, stored_length=body.stored_length, used=int(used.get(body.pk, 0)))
        for body in serving
    ]


def commit(*, prompt: Prompt, staged: Sequence[StagedBody]) -> None:
    """Insert the rows of staged texts inside the caller's transaction.

    A twin that committed first keeps its row: equal SHA-256 is equal bytes, and ours becomes an unnamed object.
    """
    Body.objects.bulk_create([_row(prompt, body) for body in staged], ignore_conflicts=True)


def _row(prompt: Prompt, body: StagedBody) -> Body:
    data = body.encoded.data
    return Body(
        id=body.body_id,
        prompt=prompt,
        sha256=body.encoded.sha256,
        byte_length=body.encoded.byte_length,
        codec=Body.Codec.DELTA if body.base_id else Body.Codec.SNAPSHOT,
        base_id=body.base_id,
        depth=body.depth,
        is_base=body.is_base,
        stored_length=len(data),
        object_key=body.object_key,
        inline=data if len(data) <= INLINE_BYTES else None,
    )


def lengths(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, int]:
    """Byte length by hex SHA-256 of the named texts that this prompt has; unknown ones are absent."""
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    rows = Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted).values_list("sha256", "byte_length")
    return {bytes(sha256).hex(): length for sha256, length in rows}


def read(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, str]:
    """The texts of this prompt by hex SHA-256, each compared with its hash.

    Raises StorageUnavailable, also for a damaged text: it says so instead of showing other bytes.
    """
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    ids = dict(Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted).values_list("pk", "sha256"))
    texts = chains.decode_all(chains.with_bases(list(ids)), set(ids))
    return {bytes(sha256).hex(): texts[pk].decode("utf-8") for pk, sha256 in ids.items()}
