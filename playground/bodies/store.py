"""What the rest of the product calls: put texts before a save, insert their rows with it, read them back.

A save does `hold` and `stage` (network, no transaction), then `commit` and `link` inside the transaction that inserts
the version. A crash between the two leaves objects that no row names, which costs space until a sweep finds them.

An upload does `stage_anew`, then `commit_unreferenced`: its row has `unreferenced_since` and counts as unknown to
everybody but the uploads that brought it, until `link` clears that. Nothing else is ever stored against such a text, so
a sweep may remove it; `hold` puts that off for what a save is going to name.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from core.errors import Conflict, StorageUnavailable
from core.ids import new_id
from playground.bodies import chains, codec, objects, placement
from playground.models import Body, Prompt, object_key

#: The code of a Conflict: a text was swept before a version named it.
TEXT_GONE = "text_gone"


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


def stage_anew(*, prompt: Prompt, text: Text) -> StagedBody:
    """Store a text whether or not this prompt has it: how long that takes must not tell. Raises StorageUnavailable."""
    staged = _represent(prompt, text)
    objects.put(staged.object_key, staged.encoded.data)
    return staged


def _represent(prompt: Prompt, text: Text) -> StagedBody:
    body_id = new_id()
    key = object_key(prompt.pk, body_id)
    placed = _place_near(prompt, text) if text.near and len(text.data) <= codec.MAX_TEXT_BYTES else None
    if placed is None:
        return StagedBody(body_id=body_id, object_key=key, encoded=codec.encode_snapshot(text.data))
    encoded, base, serves = placed
    return StagedBody(body_id=body_id, object_key=key, encoded=encoded, base_id=base.key, is_base=serves)


def _place_near(prompt: Prompt, text: Text) -> tuple[codec.Encoded, placement.Base[uuid.UUID], bool] | None:
    """The delta, its base and whether it serves as one; None if a whole copy is the better form.

    Raises StorageUnavailable.
    """
    named = Body.objects.filter(prompt=prompt, unreferenced_since=None)
    near = named.filter(sha256=bytes.fromhex(text.near or "")).first()
    if near is None:
        return None
    chain = chains.with_bases([near.pk])
    path = bases(chain)
    try:
        texts = chains.decode_all(chain, {base.key for base in path})
    except StorageUnavailable as error:
        # A damaged base must not keep anybody from saving. A store that is silent would be as silent over the whole
        # copy, and over the next text of this save.
        if error.code != chains.UNREADABLE:
            raise
        return None
    encoded: dict[uuid.UUID, codec.Encoded] = {}

    def measure(base: placement.Base[uuid.UUID]) -> int:
        encoded[base.key] = codec.encode_delta(text.data, texts[base.key])
        return len(encoded[base.key].data)

    placed = placement.place(path, len(text.data), measure=measure)
    return (encoded[placed.base.key], placed.base, placed.serves) if placed else None


def bases(chain: Sequence[Body]) -> list[placement.Base[uuid.UUID]]:
    """The bases of the chain of one text, whole copy first, with what is stored on each and what reading it costs."""
    serving = {body.pk for body in chain if body.is_base and body.byte_length >= codec.MIN_BASE_BYTES}
    sums = Body.objects.filter(base_id__in=serving).values_list("base_id").annotate(used=Sum("stored_length"))
    used = dict(sums)
    path, cost_us = [], 0.0
    for depth, body in enumerate(chain):
        cost_us += placement.step_us(byte_length=body.byte_length, stored_length=body.stored_length)
        base = placement.Base(
            key=body.pk,
            depth=depth,
            cost_us=cost_us,
            stored_length=body.stored_length,
            used=int(used.get(body.pk, 0)),
        )
        path.append(base)
    return [base for base in path if base.key in serving]


def commit(*, prompt: Prompt, staged: Sequence[StagedBody]) -> None:
    """Insert the rows of staged texts inside the caller's transaction.

    A twin that committed first keeps its row: equal SHA-256 is equal bytes, and ours becomes an unnamed object.
    """
    Body.objects.bulk_create([_row(prompt, body) for body in staged], ignore_conflicts=True)


def commit_unreferenced(*, prompt: Prompt, staged: StagedBody, now: dt.datetime) -> bool:
    """Insert the row of a text that no version names yet, inside the caller's transaction.

    False if a twin keeps its row. Raises StorageUnavailable if that one was swept just now: stage it again.
    """
    row = _row(prompt, staged)
    row.unreferenced_since = now
    Body.objects.bulk_create([row], ignore_conflicts=True)
    hold(prompt_id=prompt.pk, sha256s=[staged.encoded.sha256.hex()], now=now)
    kept = Body.objects.filter(prompt=prompt, sha256=staged.encoded.sha256).values_list("pk", flat=True).first()
    if kept is None:
        raise StorageUnavailable
    return kept == staged.body_id


def hold(*, prompt_id: uuid.UUID, sha256s: Iterable[str], now: dt.datetime | None = None) -> None:
    """Put off the sweep of these texts, where no version names them yet: somebody is about to."""
    with transaction.atomic():
        if waiting := _waiting(prompt_id, sha256s):
            Body.objects.filter(pk__in=waiting).update(unreferenced_since=now or timezone.now())


def link(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> None:
    """A version names these texts from now on: they are never swept. In the transaction that inserts the version.

    Raises Conflict if one is gone. It waits for a sweep that is removing one, and a sweep skips what it holds.
    """
    wanted = {bytes.fromhex(sha256) for sha256 in sha256s}
    if waiting := _waiting(prompt_id, sha256s):
        Body.objects.filter(pk__in=waiting).update(unreferenced_since=None)
    if Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted).count() != len(wanted):
        raise Conflict(
            "A text of this version waited too long and was removed.",
            code=TEXT_GONE,
            kept="Nothing was saved; what is in your page is still there.",
            next_step="Upload that text again, then save.",
        )


def _waiting(prompt_id: uuid.UUID, sha256s: Iterable[str]) -> list[uuid.UUID]:
    """Lock those of these texts that no version names yet: in one order, so that two savers cannot block each other."""
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    rows = Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted, unreferenced_since__isnull=False)
    return list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def _row(prompt: Prompt, body: StagedBody) -> Body:
    data = body.encoded.data
    return Body(
        id=body.body_id,
        prompt=prompt,
        sha256=body.encoded.sha256,
        byte_length=body.encoded.byte_length,
        codec=Body.Codec.DELTA if body.base_id else Body.Codec.SNAPSHOT,
        base_id=body.base_id,
        is_base=body.is_base,
        stored_length=len(data),
        inline=data if len(data) <= placement.INLINE_BYTES else None,
    )


def lengths(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, int]:
    """Byte length by hex SHA-256 of the texts that versions of this prompt name; unknown ones are absent."""
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    named = Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted, unreferenced_since=None)
    rows = named.values_list("sha256", "byte_length")
    return {bytes(sha256).hex(): length for sha256, length in rows}


def read(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, str]:
    """The texts of this prompt by hex SHA-256, each compared with its hash.

    Raises StorageUnavailable, also for a damaged text: it says so instead of showing other bytes.
    """
    return {sha256: text.decode("utf-8") for sha256, text in read_bytes(prompt_id=prompt_id, sha256s=sha256s).items()}


def read_bytes(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, bytes]:
    """As `read`, in UTF-8."""
    wanted = [bytes.fromhex(sha256) for sha256 in set(sha256s)]
    ids = dict(Body.objects.filter(prompt_id=prompt_id, sha256__in=wanted).values_list("pk", "sha256"))
    texts = chains.decode_all(chains.with_bases(list(ids)), set(ids))
    return {bytes(sha256).hex(): texts[pk] for pk, sha256 in ids.items()}
