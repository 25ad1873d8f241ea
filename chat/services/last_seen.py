"""Writing down when people were last here: by the batch, and for nobody more often than every five minutes."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any, cast

from django.db import connection, transaction

from chat.presence import DIRTY
from core.redis import client

PRECISION = dt.timedelta(minutes=5)
BATCH = 1000
Pairs = list[tuple[bytes, float]]

#: -> the accounts whose row is now as new as what was heard. Accounts that are gone count as written.
_WRITE = """
WITH heard AS (
    SELECT u.id AS user_id, to_timestamp(h.at) AS at
    FROM unnest(%(people)s::uuid[], %(times)s::float8[]) AS h(id, at) JOIN accounts_user u ON u.id = h.id ORDER BY u.id
)
INSERT INTO chat_lastseen (user_id, at) SELECT user_id, at FROM heard
ON CONFLICT (user_id) DO UPDATE SET at = excluded.at WHERE chat_lastseen.at <= excluded.at - %(precision)s::interval
"""

_SETTLED = """
SELECT h.id FROM unnest(%(people)s::uuid[], %(times)s::float8[]) AS h(id, at)
LEFT JOIN chat_lastseen l ON l.user_id = h.id LEFT JOIN accounts_user u ON u.id = h.id
WHERE u.id IS NULL OR l.at >= to_timestamp(h.at) - interval '1 millisecond'
"""

#: Only what was not heard again meanwhile.
_FORGET = """
local gone = 0
for i = 1, #ARGV, 2 do
    local at = redis.call('zscore', KEYS[1], ARGV[i])
    if at and tonumber(at) <= tonumber(ARGV[i + 1]) then gone = gone + redis.call('zrem', KEYS[1], ARGV[i]) end
end
return gone
"""


def flush_last_seen() -> int:
    """Write what sockets reported since the last time, and say for how many people. Twice at once does no harm.

    What is less than PRECISION newer than the row waits in Redis, so that the last word of who left is written, too.
    """
    redis = client()
    written = cursor = 0
    while True:
        cursor, pairs = redis.zscan(DIRTY, cursor, count=BATCH)
        heard = {uuid.UUID(bytes(person).decode()): float(at) for person, at in cast("Pairs", pairs)}
        if heard:
            written += _write(heard)
        if cursor == 0:
            return written


def _write(heard: dict[uuid.UUID, float]) -> int:
    given: dict[str, Any] = {"people": list(heard), "times": list(heard.values()), "precision": PRECISION}
    with transaction.atomic(), connection.cursor() as database:
        database.execute(_WRITE, given)
        written: int = database.rowcount
        database.execute(_SETTLED, given)
        settled = [row[0] for row in database.fetchall()]
    if settled:
        words = [word for person in settled for word in (str(person), repr(heard[person]))]
        client().eval(_FORGET, 1, DIRTY, *words)
    return written
