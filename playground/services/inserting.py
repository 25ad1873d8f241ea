"""The rows of a save, in one statement: the version under the next number, the move of its branch, its words."""

from __future__ import annotations

from django.db import connection
from django.utils import timezone

from core.errors import Conflict, NotFound
from playground.models import Version

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
