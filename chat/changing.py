"""The decisions around `statements.EDIT` and `DELETE`, as `chat.sending` has them for a send."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from chat import sending, statements
from chat.messages import Event, Told
from chat.models import InboxKind
from chat.text import clean_body
from core.errors import NotAllowed, NotFound

EDIT_WINDOW = dt.timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """An edit, or a deletion (`body` is None)."""

    sender: uuid.UUID
    message: uuid.UUID
    body: str | None
    gen: int | None

    @property
    def statement(self) -> str:
        return statements.DELETE if self.body is None else statements.EDIT

    @property
    def kind(self) -> str:
        return InboxKind.DELETED.value if self.body is None else InboxKind.EDITED.value

    def parameters(self) -> dict[str, Any]:
        return {
            "sender": self.sender,
            "message": self.message,
            "body": self.body,
            "gen": self.gen,
            "kind": self.kind,
            "window": EDIT_WINDOW,
        }


def edit(*, sender: uuid.UUID, message: uuid.UUID, body: str, gen: int | None = None) -> Change:
    """Raises InvalidInput for a text that cannot be sent."""
    return Change(sender=sender, message=message, body=clean_body(body), gen=gen)


def delete(*, sender: uuid.UUID, message: uuid.UUID, gen: int | None = None) -> Change:
    return Change(sender=sender, message=message, body=None, gen=gen)


def changed(asked: Change, row: tuple[Any, ...]) -> Event:
    """From the row of EDIT or DELETE."""
    (conversation, seq, version, created_at, edited_at, deleted_at, body, kind, reference, client_id, peer, at) = row
    message = Told(
        id=asked.message,
        conversation=conversation,
        seq=seq,
        sender=asked.sender,
        client_msg_id=client_id,
        body=body,
        reference_kind=kind,
        reference_id=reference,
        version=version,
        created_at=created_at,
        edited_at=edited_at,
        deleted_at=deleted_at,
    )
    return Event(recipient=peer, inbox_seq=at, kind=asked.kind, message=message)


def explain(asked: Change, row: tuple[Any, ...] | None) -> Told:
    """From the row of WHY_NOT: the message where it is as asked already, or why it cannot be.

    Raises NotFound, Conflict (`replaced`), NotAllowed (`too_old`, `cannot_message`).
    """
    if row is None:
        raise NotFound
    current, blocked, too_old, *columns = row
    message = Told.from_row(tuple(columns))
    if not current:
        raise sending.replaced()
    if message.body == asked.body:
        return message
    if message.deleted_at is not None:
        raise NotFound
    if blocked:
        raise sending.cannot_message()
    if too_old:
        raise NotAllowed("A message can be changed for 15 minutes.", code="too_old")
    raise NotFound
