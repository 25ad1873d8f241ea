"""Reading every representation back: what is damaged, what is mended from its other copy, what it costs.

A text has one representation, kept as an object and, up to 16 KiB, in its row, too. Either copy can mend the other.
Deltas are read with the text they rest on, so a whole tree of them is walked once, holding one path of it in memory.
"""

from __future__ import annotations

import enum
import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from core import metrics
from core.errors import StorageUnavailable
from playground import freezing
from playground.bodies import chains, codec, objects, unstored
from playground.models import Body, Version


class Damage(enum.Enum):
    OBJECT_MISSING = "object missing"
    OBJECT_CORRUPT = "object corrupt"
    ROW_COPY_CORRUPT = "row copy corrupt"
    NOTHING_LEFT = "no good copy"
    BASE_UNREADABLE = "the text it rests on is unreadable"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`readable`: whether readers get this text all the same, or do after the repair. `repaired` is never a guess: it
    is true once the good copy has been written over the bad one.
    """

    body: Body
    damage: Damage
    readable: bool
    repaired: bool


def scrub_prompt(prompt_id: uuid.UUID, *, repair: bool) -> Iterator[tuple[Body, list[Finding]]]:
    """Each text of a prompt with what is wrong with it. Raises StorageUnavailable, which says nothing about texts."""
    children: dict[uuid.UUID | None, list[uuid.UUID]] = defaultdict(list)
    for child, parent in Body.objects.filter(prompt_id=prompt_id).order_by("pk").values_list("pk", "base_id"):
        children[parent].append(child)
    # Whole copies first; a delta waits with the text it rests on, which is let go when the last of them is read.
    waiting: list[tuple[uuid.UUID, uuid.UUID | None, bytes | None]] = [
        (pk, None, None) for pk in children.pop(None, [])
    ]
    while waiting:
        pk, base_id, base = waiting.pop()
        body = Body.objects.filter(pk=pk).first()
        if body is None:
            continue  # swept meanwhile
        if body.base_id != base_id:  # repacked since the tree was listed
            base = _text(body.base_id)
        text, findings = _check(body, base, repair=repair)
        if findings and Body.objects.filter(pk=pk).exclude(packing=body.packing).exists():
            waiting.append((pk, base_id, base))  # repacked while it was read, which happens once
            continue
        metrics.BODY_CORRUPT.inc(len(findings))
        yield body, findings
        waiting += [(child, pk, text) for child in children.pop(pk, [])]


def _text(pk: uuid.UUID | None) -> bytes | None:
    """A text that was read before, for one that has come to rest on it. None if it is damaged, or there is none."""
    if pk is None:
        return None
    try:
        return chains.decode_all(chains.with_bases([pk]), {pk})[pk]
    except StorageUnavailable as error:
        if error.code != "body_unreadable":
            raise
        return None


def _check(body: Body, base: bytes | None, *, repair: bool) -> tuple[bytes | None, list[Finding]]:
    if body.base_id is not None and base is None:
        return None, [_finding(body, Damage.BASE_UNREADABLE, readable=False)]
    stored, missing = _object(body)
    from_object = _decode(body, stored, base)
    from_row = _decode(body, None if body.inline is None else bytes(body.inline), base)
    findings = []
    if from_object is None and not (missing and unstored.is_due(body)):
        damage = Damage.OBJECT_MISSING if missing else Damage.OBJECT_CORRUPT
        mended = repair and from_row is not None and _write_object(body)
        findings.append(_finding(body, damage, readable=from_row is not None, repaired=mended))
    if body.inline is not None and from_row is None:
        mended = repair and from_object is not None and _write_row(body, stored)
        # Readers take the row's copy first: until it is mended they are told that the text is damaged.
        findings.append(_finding(body, Damage.ROW_COPY_CORRUPT, readable=mended, repaired=mended))
    text = from_object if from_object is not None else from_row
    if text is None:
        findings = [_finding(body, Damage.NOTHING_LEFT, readable=False)]
    return text, findings


def _finding(body: Body, damage: Damage, *, readable: bool, repaired: bool = False) -> Finding:
    return Finding(body=body, damage=damage, readable=readable, repaired=repaired)


def _object(body: Body) -> tuple[bytes | None, bool]:
    """The stored bytes, and whether there are none."""
    try:
        return objects.get(body.object_key), False
    except objects.ObjectMissing:
        return None, True


def _decode(body: Body, stored: bytes | None, base: bytes | None) -> bytes | None:
    if stored is None:
        return None
    try:
        return codec.decode(stored, sha256=bytes(body.sha256), byte_length=body.byte_length, base=base)
    except codec.CorruptBody:
        return None


def _write_object(body: Body) -> bool:
    objects.put(body.object_key, bytes(body.inline or b""))
    return True


def _write_row(body: Body, stored: bytes | None) -> bool:
    return bool(Body.objects.filter(pk=body.pk, packing=body.packing).update(inline=stored))


def affected_versions(prompt_id: uuid.UUID, bodies: list[Body]) -> list[int]:
    """The numbers of the versions that name one of these texts."""
    names = {bytes(body.sha256).hex() for body in bodies}
    versions = Version.objects.filter(prompt_id=prompt_id).order_by("number")
    return [version.number for version in versions.iterator() if names & set(freezing.references(version.frozen))]
