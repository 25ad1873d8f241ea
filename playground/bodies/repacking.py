"""Storing a text once more, smaller and nearer to a whole copy, when nobody waits for it.

A save takes the first base that will do and encodes quickly. Later the bases that a text has above it are compared,
the one that is read soonest among the nearly smallest is taken, and the encoding takes its time. Only what is large
enough to have no copy in its row is worth that.

A step leads from a good state to a good one, so a worker may die after any of them: the new object is put under a key
of its own and read back, one UPDATE makes the row name it if the row is as it was, and the old object, which no row
names any more, is left to the sweep. Who read the row before that reads it again when the old object is gone.

A text moves only to a base that its path already had above it. Moves at once therefore cannot make a circle: each
step leads to a text that was above in the tree as it was saved. Texts that rest on it need its bytes, which never
change, so nothing else has to be touched.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence

from core.errors import StorageUnavailable
from playground.bodies import chains, codec, objects, placement, store
from playground.models import AS_SAVED, Body, object_key

#: Texts of a path are held while their bases are compared, and there are FEWEST_HOPS above one of this length.
LONGEST_BYTES = 32 * 1024 * 1024
#: A base from which the text is read sooner may cost this much more than the one that gives the smallest delta.
NEARLY = 1.05
_LARGEST_PACKING = 2**31 - 1


def repack(body_id: uuid.UUID) -> bool:
    """Store this text anew, and say whether that was done: not if it was before, or if its row changed meanwhile.

    Everything it rests on is compared with its SHA-256 first. Raises StorageUnavailable, with the code
    `body_unreadable` for damage: then nothing is changed, least of all the damaged copy.
    """
    waiting = Body.objects.filter(packing=AS_SAVED, unreferenced_since=None, byte_length__lte=LONGEST_BYTES)
    body = waiting.filter(pk=body_id).first()
    if body is None:
        return False
    chain = chains.with_bases([body.pk])
    texts = chains.decode_all(chain, {each.pk for each in chain})
    base_id, encoded = _encode(body, chain, texts)
    packing = 1 + secrets.randbelow(_LARGEST_PACKING)
    key = object_key(body.prompt_id, body.pk, packing)
    objects.put(key, encoded.data)
    if objects.get(key) != encoded.data:
        raise StorageUnavailable("The store gives back other bytes than it was given.")
    switched = _switch(body, base_id=base_id, encoded=encoded, packing=packing)
    if not switched:
        objects.delete(key)
    return switched


def _encode(
    body: Body, chain: Sequence[Body], texts: Mapping[uuid.UUID, bytes]
) -> tuple[uuid.UUID | None, codec.Encoded]:
    """The base to rest on, None for a whole copy, and the representation. `chain` is that of `body` alone."""
    text = texts[body.pk]
    above = [base for base in store.bases(chain) if base.key != body.pk]
    lengths = {base.key: len(codec.encode_delta(text, texts[base.key]).data) for base in above}
    if not lengths:
        return None, codec.encode_snapshot(text, thorough=True)
    enough = NEARLY * min(lengths.values())
    chosen = min(
        (base for base in above if lengths[base.key] <= enough), key=lambda base: _cost_us(base, body, lengths)
    )
    return chosen.key, codec.encode_delta(text, texts[chosen.key], thorough=True)


def _cost_us(base: placement.Base[uuid.UUID], body: Body, lengths: Mapping[uuid.UUID, int]) -> float:
    return base.cost_us + placement.step_us(byte_length=body.byte_length, stored_length=lengths[base.key])


def _switch(body: Body, *, base_id: uuid.UUID | None, encoded: codec.Encoded, packing: int) -> bool:
    """Make the row name the new object, if it is still what was read: one statement, so readers see old or new."""
    as_read = Body.objects.filter(pk=body.pk, packing=body.packing, base_id=body.base_id, unreferenced_since=None)
    return bool(
        as_read.update(
            packing=packing,
            base_id=base_id,
            codec=Body.Codec.DELTA if base_id else Body.Codec.SNAPSHOT,
            stored_length=len(encoded.data),
            inline=encoded.data if len(encoded.data) <= placement.INLINE_BYTES else None,
        )
    )
