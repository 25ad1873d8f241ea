"""What the sockets read and write: each call is one statement, given up after WAIT_S."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation
from psycopg_pool import AsyncConnectionPool

from chat import changing, sending, statements
from chat.database import WAIT_S, make_pool
from chat.messages import Event, Receipt, Told
from chat.sending import Draft, Sent

TAKEOVER_PAUSE = dt.timedelta(seconds=2)
Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Where a mailbox is: its last event, the last acknowledged one, and the generation that may speak."""

    last: int
    acked: int
    gen: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    conversation: uuid.UUID
    muted: bool
    count: int


class Store:
    """Raises psycopg.Error, PoolTimeout or TimeoutError where the database does not answer."""

    def __init__(self) -> None:
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] = make_pool()
        self._opening = asyncio.Lock()

    async def send(self, draft: Draft) -> Sent:
        """Raises what `chat.sending.explain` does."""
        try:
            rows = await self._rows(statements.SEND, draft.parameters())
        except UniqueViolation as error:
            if error.diag.constraint_name != sending.ONCE:
                raise
            rows = []
        if rows:
            return sending.stored(draft, rows[0])
        return sending.explain(draft, (await self._rows(statements.WHY_NOT_SENT, draft.parameters()))[0])

    async def change(self, change: changing.Change) -> Event | Told:
        """The event of a change; only the message where it was as asked already. Raises as `chat.changing.explain`."""
        rows = await self._rows(change.statement, change.parameters())
        if rows:
            return changing.changed(change, rows[0])
        rows = await self._rows(statements.WHY_NOT_CHANGED, change.parameters())
        return changing.explain(change, rows[0] if rows else None)

    async def take_over(self, *, person: uuid.UUID, page: uuid.UUID) -> Position | None:
        """The new generation; None while another page's takeover is younger than TAKEOVER_PAUSE."""
        await self._rows(statements.OPEN_MAILBOX, {"person": person}, fetch=False)
        rows = await self._rows(statements.TAKE_OVER, {"person": person, "page": page, "pause": TAKEOVER_PAUSE})
        return Position(gen=rows[0][0], last=rows[0][1], acked=rows[0][2]) if rows else None

    async def read_inbox(self, *, person: uuid.UUID, after: int, limit: int) -> list[Event]:
        rows = await self._rows(statements.READ_INBOX, {"person": person, "after": after, "limit": limit})
        return [
            Event(recipient=person, inbox_seq=row[0], kind=row[1], message=Told.from_row(tuple(row[2:])))
            for row in rows
        ]

    async def acknowledge(self, *, person: uuid.UUID, upto: int, gen: int) -> list[Receipt]:
        """Receipts for those who wrote what is now delivered. A stale `gen` changes nothing."""
        rows = await self._rows(statements.ACKNOWLEDGE, {"person": person, "upto": upto, "gen": gen})
        return [
            Receipt(recipient=peer, conversation=conversation, reader=person, delivered_upto=delivered, read_upto=read)
            for conversation, peer, delivered, read, blocked in rows
            if not blocked
        ]

    async def mark_read(self, *, person: uuid.UUID, conversation: uuid.UUID, upto: int) -> tuple[Receipt, bool] | None:
        """The receipt, and whether its recipient may have it; None for who is no member."""
        rows = await self._rows(statements.MARK_READ, {"person": person, "conversation": conversation, "upto": upto})
        if not rows:
            return None
        peer, delivered, read, blocked = rows[0]
        receipt = Receipt(
            recipient=peer, conversation=conversation, reader=person, delivered_upto=delivered, read_upto=read
        )
        return receipt, not blocked

    async def positions(self, people: Sequence[uuid.UUID]) -> dict[uuid.UUID, Position]:
        rows = await self._rows(statements.POSITIONS, {"people": list(people)})
        return {row[0]: Position(last=row[1], acked=row[2], gen=row[3]) for row in rows}

    async def visible_peers(self, *, person: uuid.UUID, peers: Sequence[uuid.UUID]) -> dict[uuid.UUID, dt.datetime]:
        """Those among `peers` whose presence this person may see, with when they were last seen (or the epoch)."""
        rows = await self._rows(statements.VISIBLE_PEERS, {"person": person, "peers": list(peers)})
        return {row[0]: row[1] or dt.datetime.fromtimestamp(0, dt.UTC) for row in rows}

    async def typing_peer(self, *, person: uuid.UUID, conversation: uuid.UUID) -> uuid.UUID | None:
        rows = await self._rows(statements.TYPING_PEER, {"sender": person, "conversation": conversation})
        return rows[0][0] if rows else None

    async def unread(self, person: uuid.UUID) -> list[Unread]:
        rows = await self._rows(statements.UNREAD, {"person": person})
        return [Unread(conversation=row[0], muted=row[1], count=row[2]) for row in rows]

    async def _rows(self, statement: str, parameters: dict[str, Any], *, fetch: bool = True) -> list[Row]:
        if self._pool.closed:
            async with self._opening:
                if self._pool.closed:
                    await self._pool.open(wait=False)
        async with asyncio.timeout(WAIT_S), self._pool.connection() as connection:
            cursor = await connection.execute(statement.encode(), parameters)
            return await cursor.fetchall() if fetch else []
