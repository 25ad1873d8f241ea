"""What nobody fetches does not stay for ever: old events leave the inbox. The messages themselves stay."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from django.db import connection, transaction

KEPT_FOR = dt.timedelta(days=45)
MOST = 10_000
BATCH = 1000

#: -> (person, the inbox_seq up to which events are to go).
_DUE = """
SELECT m.user_id, GREATEST(m.last_inbox_seq - %(most)s, COALESCE((
    SELECT max(i.inbox_seq) FROM chat_inbox i
    WHERE i.recipient_id = m.user_id AND i.created_at < now() - %(kept)s::interval
), 0))
FROM chat_mailbox m
WHERE m.last_inbox_seq > m.acked_seq AND (
    m.last_inbox_seq - m.acked_seq > %(most)s
    OR EXISTS (
        SELECT FROM chat_inbox i WHERE i.recipient_id = m.user_id AND i.created_at < now() - %(kept)s::interval
    )
)
"""

#: The mailbox first, as everywhere. The page of who comes back has less than `acked_seq`, and is told `reset`.
_ADVANCE = "UPDATE chat_mailbox SET acked_seq = GREATEST(acked_seq, %(upto)s) WHERE user_id = %(person)s"

_REMOVE = """
DELETE FROM chat_inbox WHERE (recipient_id, inbox_seq) IN (
    SELECT recipient_id, inbox_seq FROM chat_inbox WHERE recipient_id = %(person)s AND inbox_seq <= %(upto)s
    ORDER BY inbox_seq LIMIT %(batch)s
)
"""


def prune_inboxes() -> int:
    """Remove undelivered events older than KEPT_FOR or beyond the newest MOST of a person, and say how many."""
    with connection.cursor() as cursor:
        asked: dict[str, Any] = {"most": MOST, "kept": KEPT_FOR}
        cursor.execute(_DUE, asked)
        due = cursor.fetchall()
    return sum(_prune(person, upto) for person, upto in due)


def _prune(person: uuid.UUID, upto: int) -> int:
    given: dict[str, Any] = {"person": person, "upto": upto, "batch": BATCH}
    with connection.cursor() as cursor:
        cursor.execute(_ADVANCE, given)
    removed = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_REMOVE, given)
            if cursor.rowcount <= 0:
                return removed
            removed += cursor.rowcount
