"""The rows of staged texts: as values, and as a part of the statement that inserts them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from core.prepared import prepared_cursor
from playground.bodies import codec, placement
from playground.models import Body, Prompt
from playground.models.body import AS_SAVED

#: Parts of one WITH, for `row_values`: `kept` inserts the texts, `due` what is still to be done about them. A twin that
#: committed first keeps its row: equal SHA-256 is equal bytes, and ours becomes an unnamed object. The first one ends
#: in the FROM of a SELECT, so that the texts may depend on what another part returns.
KEPT = """
    kept AS (
        INSERT INTO playground_body (
            id, prompt_id, sha256, byte_length, codec, base_id, is_base, stored_length, inline, packing, created_at
        )
        SELECT
            text.id, %(prompt_id)s, sha256, byte_length, codec, base_id, is_base, stored_length, inline,
            %(packing)s, %(now)s
        FROM unnest(
            %(body_ids)s::uuid[], %(body_sha256s)b::bytea[], %(body_lengths)s::int[], %(body_codecs)s::smallint[],
            %(body_bases)s::uuid[], %(body_are_bases)s::bool[], %(body_stored_lengths)s::int[],
            %(body_inlines)b::bytea[]
        ) AS text (id, sha256, byte_length, codec, base_id, is_base, stored_length, inline)
"""
DUE = """
        ON CONFLICT DO NOTHING RETURNING id, prompt_id, sha256
    ), due AS (
        INSERT INTO playground_unstoredbody (body_id, prompt_id)
        SELECT id, prompt_id FROM kept WHERE id = ANY(%(bodies_due)s::uuid[])
    )
"""
_INSERT = f"WITH {KEPT} {DUE} SELECT sha256 FROM kept"  # noqa: S608  # parts of ours


@dataclass(frozen=True, kw_only=True)
class StagedBody:
    """A text whose row is not inserted yet. Its object is in the store, unless `later`."""

    body_id: uuid.UUID
    object_key: str
    encoded: codec.Encoded
    base_id: uuid.UUID | None = None
    is_base: bool = True
    later: bool = False

    @property
    def codec(self) -> int:
        return Body.Codec.DELTA if self.base_id else Body.Codec.SNAPSHOT

    @property
    def inline(self) -> bytes | None:
        """The copy in the row, if it is small enough for one."""
        return self.encoded.data if len(self.encoded.data) <= placement.INLINE_BYTES else None


def row_values(staged: Sequence[StagedBody]) -> dict[str, Any]:
    """The parameters of `KEPT` and `DUE`, but for `prompt_id` and `now`."""
    # In one order, so that two who insert the same texts wait for each other in a line and not in a ring.
    staged = sorted(staged, key=lambda body: body.encoded.sha256)
    return {
        "body_ids": [body.body_id for body in staged],
        "body_sha256s": [body.encoded.sha256 for body in staged],
        "body_lengths": [body.encoded.byte_length for body in staged],
        "body_codecs": [int(body.codec) for body in staged],
        "body_bases": [body.base_id for body in staged],
        "body_are_bases": [body.is_base for body in staged],
        "body_stored_lengths": [len(body.encoded.data) for body in staged],
        "body_inlines": [body.inline for body in staged],
        "packing": AS_SAVED,
        "bodies_due": [body.body_id for body in staged if body.later],
    }


def insert(*, prompt: Prompt, staged: Sequence[StagedBody]) -> set[str]:
    """Insert them inside the caller's transaction, and say which are now there by it, in hex."""
    with prepared_cursor() as cursor:
        cursor.execute(_INSERT, {"prompt_id": prompt.pk, "now": timezone.now(), **row_values(staged)})
        return {bytes(sha256).hex() for (sha256,) in cursor.fetchall()}
