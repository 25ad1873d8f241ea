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
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from core.errors import Conflict, StorageUnavailable
from core.ids import new_id
from core.prepared import prepared_cursor
from playground.bodies import chains, codec, objects, placement, rows
from playground.bodies.held import held_texts
from playground.bodies.rows import StagedBody
from playground.models import Body, Prompt, object_key

#: How long a text that was read or saved is taken for what the store holds, when another one is to rest on it.
TRUSTED_S = 60.0
#: Of each text by SHA-256 whether a version names it, in rows with `up` 0; and for those that another text is to rest
#: on, the way up from each that a version names to its whole copy.
_SEEN = """
    WITH RECURSIVE path AS (
        SELECT
            sha256 AS of_text, sha256 = ANY(%s) AND unreferenced_since IS NULL AS goes_up,
            unreferenced_since IS NULL AS named,
            id, sha256, byte_length, stored_length, is_base, base_id, 0 AS up
        FROM playground_body WHERE prompt_id = %s AND sha256 = ANY(%s)
        UNION ALL
        SELECT
            path.of_text, true, true,
            base.id, base.sha256, base.byte_length, base.stored_length, base.is_base, base.base_id, path.up + 1
        FROM playground_body base JOIN path ON base.id = path.base_id WHERE path.goes_up
    )
    SELECT
        of_text, up, goes_up, named, id, sha256, byte_length, stored_length, is_base,
        CASE WHEN goes_up AND is_base THEN
            (SELECT coalesce(sum(delta.stored_length), 0) FROM playground_body delta WHERE delta.base_id = path.id)
        ELSE 0 END
    FROM path ORDER BY up DESC
"""
#: The code of a Conflict: a text was swept before a version named it.
TEXT_GONE = "text_gone"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text to keep. `near` is the hex SHA-256 of the text it was edited from, if any: what it may be a delta of.

    `sha256` is its own, in hex.
    """

    data: bytes
    near: str | None = None
    sha256: str = ""

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", hashlib.sha256(self.data).hexdigest())


class _Step(NamedTuple):
    """A representation on the way to a text. `used`: the sum of the deltas on it, if it serves as a base."""

    key: uuid.UUID
    sha256: bytes
    byte_length: int
    stored_length: int
    is_base: bool
    used: int

    @property
    def serves(self) -> bool:
        return self.is_base and self.byte_length >= codec.MIN_BASE_BYTES


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a prompt has of some texts, by hex SHA-256. Unknown ones are absent.

    `named`: whether a text counts as named; `paths`: from the whole copy to a text that others are to rest on.
    """

    named: dict[str, bool]
    paths: dict[str, list[_Step]]


def seen(*, prompt_id: uuid.UUID, sha256s: Iterable[str], nears: Iterable[str] = ()) -> Seen:
    """Which of these texts the prompt has, and the paths to those `nears` that a version names."""
    nears = set(nears)
    names = nears.union(sha256s)
    found = Seen(named={}, paths={})
    if not names:
        return found
    with prepared_cursor() as cursor:
        cursor.execute(_SEEN, [_raw(nears), prompt_id, _raw(names)])
        for of_text, up, goes_up, named, *step in cursor.fetchall():
            name = bytes(of_text).hex()
            if not up:
                found.named[name] = named
            if goes_up:
                found.paths.setdefault(name, []).append(_Step(*step))
    return found


def _raw(sha256s: Iterable[str]) -> list[bytes]:
    return [bytes.fromhex(sha256) for sha256 in sha256s]


def known(*, prompt_id: uuid.UUID, sha256s: Iterable[str]) -> dict[str, bool]:
    """By hex SHA-256, which of these texts the prompt has: whether it counts as named. Unknown ones are absent."""
    return seen(prompt_id=prompt_id, sha256s=sha256s).named


def stage(*, prompt: Prompt, texts: Iterable[Text], there: Seen | None = None, later: bool = False) -> list[StagedBody]:
    """Store the texts that this prompt does not have yet; not to be called inside a transaction.

    `there`: what `seen` said just now, of these texts and their `near` at least, if the caller has asked already.
    `later`: what fits into its row is only kept there for now; `unstored.store_objects` puts it into the store.

    Raises StorageUnavailable; then nothing was saved.
    """
    by_name = {text.sha256: text for text in texts}
    if there is None:
        there = seen(prompt_id=prompt.pk, sha256s=by_name, nears=nears(by_name.values()))
    fresh = {name: text for name, text in by_name.items() if name not in there.named}
    staged = [_represent(prompt, text, there) for text in fresh.values()]
    if later:
        staged = [replace(body, later=len(body.encoded.data) <= placement.INLINE_BYTES) for body in staged]
    at_once = [body for body in staged if not body.later]
    chains.in_parallel(lambda body: objects.put(body.object_key, body.encoded.data), at_once)
    for name, text in fresh.items():
        held_texts.hold((prompt.pk, name), text.data)
    return staged


def stage_anew(*, prompt: Prompt, text: Text) -> StagedBody:
    """Store a text whether or not this prompt has it: how long that takes must not tell. Raises StorageUnavailable."""
    staged = _represent(prompt, text, seen(prompt_id=prompt.pk, sha256s=[], nears=nears([text])))
    objects.put(staged.object_key, staged.encoded.data)
    return staged


def nears(texts: Iterable[Text]) -> set[str]:
    """What these texts may be deltas of."""
    return {text.near for text in texts if text.near and placement.WHOLE_BYTES < len(text.data) <= codec.MAX_TEXT_BYTES}


def _represent(prompt: Prompt, text: Text, there: Seen) -> StagedBody:
    body_id = new_id()
    key = object_key(prompt.pk, body_id)
    path = [step for near in nears([text]) for step in there.paths.get(near, ())]
    placed = _place(prompt, text, path) if path else None
    if placed is None:
        return StagedBody(body_id=body_id, object_key=key, encoded=codec.encode_snapshot(text.data))
    encoded, base, serves = placed
    return StagedBody(body_id=body_id, object_key=key, encoded=encoded, base_id=base.key, is_base=serves)


def _place(
    prompt: Prompt, text: Text, path: Sequence[_Step]
) -> tuple[codec.Encoded, placement.Base[uuid.UUID], bool] | None:
    """The delta, its base and whether it serves as one; None if a whole copy is the better form.

    Raises StorageUnavailable.
    """
    sha256_of = {step.key: step.sha256.hex() for step in path}
    encoded: dict[uuid.UUID, codec.Encoded] = {}

    def measure(base: placement.Base[uuid.UUID]) -> int:
        encoded[base.key] = codec.encode_delta(text.data, _text_of(prompt, base.key, sha256_of[base.key]))
        return len(encoded[base.key].data)

    try:
        placed = placement.place(_serving(path), len(text.data), measure=measure)
    except StorageUnavailable as error:
        # A damaged base must not keep anybody from saving. A store that is silent would be as silent over the whole
        # copy, and over the next text of this save.
        if error.code != chains.UNREADABLE:
            raise
        return None
    return (encoded[placed.base.key], placed.base, placed.serves) if placed else None


def _text_of(prompt: Prompt, body_id: uuid.UUID, sha256: str) -> bytes:
    """The text of a base. One that was read or saved a while ago is read again, as nothing may rest on damage."""
    held = held_texts.get((prompt.pk, sha256))
    if held is not None and time.monotonic() - held.at_s < TRUSTED_S:
        return held.data
    text = chains.decode_all(chains.with_bases([body_id]), {body_id})[body_id]
    held_texts.hold((prompt.pk, sha256), text)
    return text


def bases(chain: Sequence[Body]) -> list[placement.Base[uuid.UUID]]:
    """The bases of the chain of one text, whole copy first, with what is stored on each and what reading it costs."""
    sums = Body.objects.filter(base_id__in=[body.pk for body in chain if body.is_base]).values_list("base_id")
    used = dict(sums.annotate(used=Sum("stored_length")))
    steps = [
        _Step(
            key=body.pk,
            sha256=bytes(body.sha256),
            byte_length=body.byte_length,
            stored_length=body.stored_length,
            is_base=body.is_base,
            used=int(used.get(body.pk, 0)),
        )
        for body in chain
    ]
    return _serving(steps)


def _serving(steps: Sequence[_Step]) -> list[placement.Base[uuid.UUID]]:
    path, cost_us = [], 0.0
    for depth, step in enumerate(steps):
        cost_us += placement.step_us(byte_length=step.byte_length, stored_length=step.stored_length)
        if step.serves:
            base = placement.Base(
                key=step.key, depth=depth, cost_us=cost_us, stored_length=step.stored_length, used=int(step.used)
            )
            path.append(base)
    return path


def commit(*, prompt: Prompt, staged: Sequence[StagedBody]) -> set[str]:
    """Insert the rows of staged texts inside the caller's transaction, and say which are now there by it, in hex.

    A twin that committed first keeps its row: equal SHA-256 is equal bytes, and ours becomes an unnamed object.
    """
    return rows.insert(prompt=prompt, staged=staged) if staged else set()


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
    names = set(sha256s)
    there = known(prompt_id=prompt_id, sha256s=names)
    if len(there) == len(names) and all(there.values()):
        return
    if waiting := _waiting(prompt_id, names):
        Body.objects.filter(pk__in=waiting).update(unreferenced_since=None)
    if len(known(prompt_id=prompt_id, sha256s=names)) != len(names):
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
    return Body(
        id=body.body_id,
        prompt=prompt,
        sha256=body.encoded.sha256,
        byte_length=body.encoded.byte_length,
        codec=body.codec,
        base_id=body.base_id,
        is_base=body.is_base,
        stored_length=len(body.encoded.data),
        inline=body.inline,
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
