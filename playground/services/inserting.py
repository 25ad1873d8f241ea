"""The rows of a save, in one statement: the version under the next number, the move of its branch, its words.

`insert_version` leaves to its caller what else belongs to the transaction: texts, a new branch, an idempotency key.
`insert_at_once` does the common save whole, without a transaction around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from core import idempotency
from core.errors import Conflict, NotFound
from core.prepared import prepared_cursor
from playground.bodies import rows
from playground.models import Version

#: The values of `idempotency.claim_values`.
Claim = dict[str, Any]

_ATTEMPTS = 50
_FIELDS = [
    (field.attname, f'"{field.column}"')
    for field in Version._meta.concrete_fields
    if field.attname not in ("number", "acl_epoch")
]
#: One statement, for one round trip. The prompt's row is locked to the commit: whoever saves at once waits here, then
#: has an old view of the numbers, makes nothing, and comes again with a fresh one. A head that moved meanwhile is seen:
#: an UPDATE looks again at a row that it had to wait for.
_SAVE = f"""
    WITH touched AS (
        UPDATE playground_prompt SET updated_at = %(now)s WHERE id = %(prompt_id)s RETURNING acl_epoch
    ), made AS (
        INSERT INTO playground_version ({", ".join(column for _, column in _FIELDS)}, acl_epoch, number)
        SELECT {", ".join(f"%({name})s" for name, _ in _FIELDS)}, acl_epoch,
            (SELECT coalesce(max(number), 0) + 1 FROM playground_version WHERE prompt_id = %(prompt_id)s)
        FROM touched
        ON CONFLICT (prompt_id, number) DO NOTHING
        RETURNING number, acl_epoch
    ), moved AS (
        UPDATE playground_branch SET head_id = %(id)s FROM made
        WHERE prompt_id = %(prompt_id)s AND name = %(branch)s AND head_id = %(parent_id)s
        RETURNING id
    ), noted AS (
        INSERT INTO playground_branchmove (prompt_id, branch_id, actor_id, from_version_id, to_version_id, created_at)
        SELECT %(prompt_id)s, id, %(author_id)s, %(parent_id)s, %(id)s, %(now)s FROM moved
    ), found AS (
        INSERT INTO playground_versionsearch (version_id, prompt_id, document)
        SELECT %(id)s, %(prompt_id)s, %(words)s::tsvector FROM made WHERE %(words)s IS NOT NULL
    )
    SELECT made.number, made.acl_epoch, (SELECT count(*) FROM moved) FROM touched LEFT JOIN made ON true
"""  # noqa: S608  # names of columns, not of people
#: All of a save, or nothing of it. The same locks in the same order as in the transaction of an ordinary save: prompt,
#: branch, version, texts, key. Each part depends on the one before; so where the branch has another head, a text to
#: refer to counts as unnamed, or one to insert is there, nothing is made. If only a later part turns out to be
#: impossible (the number, a text or the key was taken while this waited), the move has no branch to be of, and its
#: NOT NULL breaks the whole statement.
_SAVE_AT_ONCE = f"""
    WITH touched AS (
        UPDATE playground_prompt SET updated_at = %(now)s
        WHERE id = %(prompt_id)s AND EXISTS (
            SELECT FROM playground_branch
            WHERE prompt_id = %(prompt_id)s AND name = %(branch)s AND head_id = %(parent_id)s
        ) AND (cardinality(%(named)s::bytea[]) = 0 OR cardinality(%(named)s::bytea[]) = (
            SELECT count(*) FROM playground_body
            WHERE prompt_id = %(prompt_id)s AND sha256 = ANY(%(named)s::bytea[]) AND unreferenced_since IS NULL
        )) AND NOT EXISTS (
            SELECT FROM playground_body WHERE prompt_id = %(prompt_id)s AND sha256 = ANY(%(body_sha256s)b::bytea[])
        )
        RETURNING acl_epoch
    ), moved AS (
        UPDATE playground_branch SET head_id = %(id)s FROM touched
        WHERE prompt_id = %(prompt_id)s AND name = %(branch)s AND head_id = %(parent_id)s
        RETURNING id
    ), made AS (
        INSERT INTO playground_version ({", ".join(column for _, column in _FIELDS)}, acl_epoch, number)
        SELECT {", ".join(f"%({name})s" for name, _ in _FIELDS)}, acl_epoch,
            (SELECT coalesce(max(number), 0) + 1 FROM playground_version WHERE prompt_id = %(prompt_id)s)
        FROM touched, moved
        ON CONFLICT (prompt_id, number) DO NOTHING
        RETURNING number, acl_epoch
    ), {rows.KEPT}, made {rows.DUE}, {idempotency.CLAIMED}
        FROM made WHERE %(key)s::text IS NOT NULL
        ON CONFLICT DO NOTHING RETURNING id
    ), noted AS (
        INSERT INTO playground_branchmove (prompt_id, branch_id, actor_id, from_version_id, to_version_id, created_at)
        SELECT %(prompt_id)s, CASE WHEN
            EXISTS (SELECT FROM made)
            AND (SELECT count(*) FROM kept) = cardinality(%(body_ids)s::uuid[])
            AND (%(key)s::text IS NULL OR EXISTS (SELECT FROM claimed))
        THEN id END, %(author_id)s, %(parent_id)s, %(id)s, %(now)s FROM moved
    ), found AS (
        INSERT INTO playground_versionsearch (version_id, prompt_id, document)
        SELECT %(id)s, %(prompt_id)s, %(words)s::tsvector FROM made
    )
    SELECT number, acl_epoch FROM made
"""  # noqa: S608  # names of columns, not of people


def insert_at_once(
    version: Version, *, branch: str, words: str, staged: Sequence[rows.StagedBody], named: Iterable[str], claim: Claim
) -> bool:
    """Make `version`, the head of `branch` in its parent's place, with the texts `staged` and the key in `claim`.

    `named`: the hex SHA-256 of the texts it refers to besides. False if nothing was made: then somebody else was here
    first, or the prompt is gone, and the ordinary way finds out what that means. Otherwise as `insert_version`.
    """
    values = {name: getattr(version, name) for name, _ in _FIELDS}
    values |= {"now": timezone.now(), "branch": branch, "words": words, **rows.row_values(staged), **claim}
    values["named"] = [bytes.fromhex(name) for name in named]
    try:
        # A statement is a transaction by itself; inside another one, its failure must not break that.
        with transaction.atomic() if connection.in_atomic_block else nullcontext(), prepared_cursor() as cursor:
            cursor.execute(_SAVE_AT_ONCE, values)
            row = cursor.fetchone()
    except IntegrityError:
        return False
    if row is None:
        return False
    version.number, version.acl_epoch, version._state.adding = row[0], row[1], False
    return True


def insert_version(version: Version, *, branch: str, words: str | None) -> bool:
    """Insert it inside the caller's transaction, and say whether `branch`, whose head was its parent, has moved to it.

    `words`: its document for the search, if that is at hand and surely small enough. The prompt counts as changed now.
    Its `number` and `acl_epoch` are set: a revocation that comes meanwhile waits, and what is made here is older.

    Raises NotFound if the prompt is gone, Conflict.
    """
    values = {name: getattr(version, name) for name, _ in _FIELDS}
    values |= {"now": timezone.now(), "branch": branch, "words": words}
    with connection.cursor() as cursor:
        for _ in range(_ATTEMPTS):
            cursor.execute(_SAVE, values)
            row = cursor.fetchone()
            if row is None:
                raise NotFound
            if row[0] is not None:
                version.number, version.acl_epoch, version._state.adding = row[0], row[1], False
                return bool(row[2])
    raise Conflict("Too many people are saving this prompt at once.", next_step="Save again.")
