"""The statements that both the services and the sockets run: one round trip each, named parameters, psycopg style.

Locks are always taken in one order, conversation (or message), then mailbox, then inbox, then member; no statement
goes the other way, so none of them can deadlock with another.
"""

from __future__ import annotations

_PEER = "CASE WHEN c.user_lo_id = %(sender)s THEN c.user_hi_id ELSE c.user_lo_id END"

NOT_BLOCKED = """NOT EXISTS (
        SELECT FROM chat_block b
        WHERE (b.blocker_id, b.blocked_id) IN ((c.user_lo_id, c.user_hi_id), (c.user_hi_id, c.user_lo_id))
    )"""

FENCED = """(%(gen)s::bigint IS NULL OR EXISTS (
        SELECT FROM chat_mailbox WHERE user_id = %(sender)s AND session_gen = %(gen)s::bigint
    ))"""

#: Raises the recipient's counter under its lock, and puts the event there: the end of every statement that tells
#: somebody something. Needs a relation `told(peer, message_id)` of one row or none.
_TELL = """
posted AS (
    UPDATE chat_mailbox m SET last_inbox_seq = m.last_inbox_seq + 1 FROM told WHERE m.user_id = told.peer
    RETURNING m.user_id, m.last_inbox_seq, told.message_id
), queued AS (
    INSERT INTO chat_inbox (recipient_id, inbox_seq, kind, message_id, created_at)
    SELECT user_id, last_inbox_seq, %(kind)s::varchar, message_id, now() FROM posted
)"""

#: -> (seq, created_at, peer, inbox_seq), or no row if it may not be sent or was sent before: see WHY_NOT_SENT.
#: A twin that commits first raises a violation of `message_client_id_once`, which undoes both counters.
SEND = f"""
WITH allowed AS (
    SELECT c.id, {_PEER} AS peer FROM chat_conversation c
    JOIN accounts_user u ON u.id = {_PEER} AND u.is_active
    WHERE c.id = %(conversation)s AND %(sender)s IN (c.user_lo_id, c.user_hi_id) AND {FENCED} AND {NOT_BLOCKED}
    AND NOT EXISTS (SELECT FROM chat_message WHERE sender_id = %(sender)s AND client_msg_id = %(client_msg_id)s)
), numbered AS (
    UPDATE chat_conversation c SET last_seq = c.last_seq + 1, last_message_at = now()
    FROM allowed WHERE c.id = allowed.id RETURNING c.id, c.last_seq, allowed.peer
), stored AS (
    INSERT INTO chat_message
        (id, conversation_id, seq, sender_id, client_msg_id, body, reference_kind, reference_id, version, created_at)
    SELECT %(message)s, id, last_seq, %(sender)s, %(client_msg_id)s, %(body)s::text, %(reference_kind)s::varchar,
        %(reference_id)s::uuid, 1, clock_timestamp()
    FROM numbered RETURNING id, seq, created_at
), told AS (
    SELECT numbered.peer, stored.id AS message_id FROM numbered, stored
), {_TELL}
SELECT stored.seq, stored.created_at, posted.user_id, posted.last_inbox_seq FROM stored, posted
"""  # noqa: S608

#: -> (fenced, is_member, message columns of an earlier attempt or nulls): one row, always.
WHY_NOT_SENT = f"""
SELECT {FENCED} AS current,
    EXISTS (
        SELECT FROM chat_conversation c
        WHERE c.id = %(conversation)s AND %(sender)s IN (c.user_lo_id, c.user_hi_id)
    ) AS is_member,
    m.id, m.conversation_id, m.seq, m.created_at, m.body, m.reference_kind, m.reference_id, m.version
FROM (SELECT 1) AS one
LEFT JOIN chat_message m ON m.sender_id = %(sender)s AND m.client_msg_id = %(client_msg_id)s
"""  # noqa: S608

_CHANGED = """
), told AS (
    SELECT c.user_lo_id, c.user_hi_id, changed.*, CASE WHEN c.user_lo_id = %(sender)s THEN c.user_hi_id
        ELSE c.user_lo_id END AS peer, changed.id AS message_id
    FROM changed JOIN chat_conversation c ON c.id = changed.conversation_id
), """

#: -> (conversation_id, seq, version, created_at, edited_at, deleted_at, body, reference_kind, reference_id,
#: client_msg_id, peer, inbox_seq), or no row.
EDIT = f"""
WITH changed AS (
    UPDATE chat_message m SET body = %(body)s, version = m.version + 1, edited_at = clock_timestamp()
    FROM chat_conversation c
    WHERE m.id = %(message)s AND m.sender_id = %(sender)s AND m.deleted_at IS NULL AND c.id = m.conversation_id
        AND m.created_at > now() - %(window)s::interval AND m.body IS DISTINCT FROM %(body)s
        AND {FENCED} AND {NOT_BLOCKED}
    RETURNING m.*
{_CHANGED}{_TELL}
SELECT told.conversation_id, told.seq, told.version, told.created_at, told.edited_at, told.deleted_at, told.body,
    told.reference_kind, told.reference_id, told.client_msg_id, told.peer, posted.last_inbox_seq FROM told, posted
"""  # noqa: S608

#: The same columns. Allowed when blocked: taking one's own words back harms nobody.
DELETE = f"""
WITH changed AS (
    UPDATE chat_message m SET body = NULL, reference_kind = NULL, reference_id = NULL, version = m.version + 1,
        deleted_at = clock_timestamp()
    WHERE m.id = %(message)s AND m.sender_id = %(sender)s AND m.deleted_at IS NULL AND {FENCED}
    RETURNING m.*
{_CHANGED}{_TELL}
SELECT told.conversation_id, told.seq, told.version, told.created_at, told.edited_at, told.deleted_at, told.body,
    told.reference_kind, told.reference_id, told.client_msg_id, told.peer, posted.last_inbox_seq FROM told, posted
"""  # noqa: S608

#: -> (current, blocked, too old, sender, columns of the message), or no row for a message that is not there.
WHY_NOT_CHANGED = f"""
SELECT {FENCED}, NOT {NOT_BLOCKED}, m.created_at <= now() - %(window)s::interval,
    m.id, m.conversation_id, m.seq, m.sender_id, m.client_msg_id, m.body, m.reference_kind, m.reference_id,
    m.version, m.created_at, m.edited_at, m.deleted_at
FROM chat_message m JOIN chat_conversation c ON c.id = m.conversation_id
WHERE m.id = %(message)s AND m.sender_id = %(sender)s
"""  # noqa: S608

#: -> (peer, delivered_seq, read_seq, blocked), or no row for who is no member. Cursors only grow, never past the
#: last one.
MARK_READ = """
UPDATE chat_member m SET read_seq = GREATEST(m.read_seq, LEAST(%(upto)s::bigint, c.last_seq)),
    delivered_seq = GREATEST(m.delivered_seq, LEAST(%(upto)s::bigint, c.last_seq))
FROM chat_conversation c
WHERE c.id = m.conversation_id AND m.conversation_id = %(conversation)s AND m.user_id = %(person)s
RETURNING CASE WHEN c.user_lo_id = %(person)s THEN c.user_hi_id ELSE c.user_lo_id END, m.delivered_seq, m.read_seq,
    EXISTS (
        SELECT FROM chat_block b
        WHERE (b.blocker_id, b.blocked_id) IN ((c.user_lo_id, c.user_hi_id), (c.user_hi_id, c.user_lo_id))
    )
"""

#: -> (conversation, peer, delivered_seq, read_seq, blocked) of each conversation whose delivered mark moved.
#: No row of a conversation is locked, so this cannot deadlock with a send. A stale generation changes nothing.
ACKNOWLEDGE = """
WITH fence AS (
    UPDATE chat_mailbox SET acked_seq = GREATEST(acked_seq, %(upto)s)
    WHERE user_id = %(person)s AND session_gen = %(gen)s AND last_inbox_seq >= %(upto)s RETURNING user_id
), gone AS (
    DELETE FROM chat_inbox i USING fence WHERE i.recipient_id = fence.user_id AND i.inbox_seq <= %(upto)s
    RETURNING i.message_id
), tops AS (
    SELECT m.conversation_id, max(m.seq) AS seq FROM gone JOIN chat_message m ON m.id = gone.message_id
    WHERE m.sender_id <> %(person)s GROUP BY m.conversation_id
)
UPDATE chat_member t SET delivered_seq = GREATEST(t.delivered_seq, tops.seq)
FROM tops JOIN chat_conversation c ON c.id = tops.conversation_id
WHERE t.conversation_id = tops.conversation_id AND t.user_id = %(person)s AND t.delivered_seq < tops.seq
RETURNING t.conversation_id, CASE WHEN c.user_lo_id = %(person)s THEN c.user_hi_id ELSE c.user_lo_id END,
    t.delivered_seq, t.read_seq, EXISTS (
        SELECT FROM chat_block b
        WHERE (b.blocker_id, b.blocked_id) IN ((c.user_lo_id, c.user_hi_id), (c.user_hi_id, c.user_lo_id))
    )
"""

OPEN_MAILBOX = """
INSERT INTO chat_mailbox (user_id, last_inbox_seq, acked_seq, session_gen) VALUES (%(person)s, 0, 0, 0)
ON CONFLICT DO NOTHING
"""

#: -> (gen, last_inbox_seq, acked_seq), or no row when another page took over less than `pause` ago. A takeover in the
#: future is of a clock that was set back since, and holds nobody up.
TAKE_OVER = """
UPDATE chat_mailbox SET session_gen = session_gen + 1, session_id = %(page)s, taken_at = clock_timestamp()
WHERE user_id = %(person)s AND (
    session_id IS NULL OR session_id = %(page)s
    OR taken_at NOT BETWEEN clock_timestamp() - %(pause)s::interval AND clock_timestamp()
)
RETURNING session_gen, last_inbox_seq, acked_seq
"""

#: -> the events after `after`, oldest first: (inbox_seq, kind, message columns).
READ_INBOX = """
SELECT i.inbox_seq, i.kind, m.id, m.conversation_id, m.seq, m.sender_id, m.client_msg_id, m.body, m.reference_kind,
    m.reference_id, m.version, m.created_at, m.edited_at, m.deleted_at
FROM chat_inbox i JOIN chat_message m ON m.id = i.message_id
WHERE i.recipient_id = %(person)s AND i.inbox_seq > %(after)s ORDER BY i.inbox_seq LIMIT %(limit)s
"""

#: -> (user, last_inbox_seq, acked_seq, session_gen) of many at once.
POSITIONS = "SELECT user_id, last_inbox_seq, acked_seq, session_gen FROM chat_mailbox WHERE user_id = ANY(%(people)s)"

#: -> (peer, last_seen or null) of those among `peers` with whom `person` talks and who are not blocked either way.
VISIBLE_PEERS = """
SELECT p.id, l.at FROM unnest(%(peers)s::uuid[]) AS p(id)
JOIN chat_conversation c ON (c.user_lo_id, c.user_hi_id) IN ((%(person)s, p.id), (p.id, %(person)s))
LEFT JOIN chat_lastseen l ON l.user_id = p.id
WHERE NOT EXISTS (
    SELECT FROM chat_block b WHERE (b.blocker_id, b.blocked_id) IN ((%(person)s, p.id), (p.id, %(person)s))
)
"""

#: -> (peer,) if `sender` may be seen typing there, or no row.
TYPING_PEER = f"""
SELECT {_PEER} FROM chat_conversation c
WHERE c.id = %(conversation)s AND %(sender)s IN (c.user_lo_id, c.user_hi_id) AND {NOT_BLOCKED}
"""  # noqa: S608

#: -> (conversation, unread up to 100) where there is any. Columns: conversation, muted, count.
UNREAD = """
SELECT t.conversation_id, t.muted_at IS NOT NULL, u.count FROM chat_member t
JOIN chat_conversation c ON c.id = t.conversation_id AND c.last_seq > t.read_seq
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT FROM chat_message m WHERE m.conversation_id = t.conversation_id
            AND m.seq > GREATEST(t.read_seq, t.cleared_before_seq) AND m.sender_id <> %(person)s
            AND m.deleted_at IS NULL LIMIT 100
    ) AS unread
) AS u
WHERE t.user_id = %(person)s AND u.count > 0
"""
