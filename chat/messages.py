"""What travels: a message as plain data, and the event that tells somebody of it."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any

from chat.models import Message, ReferenceKind
from core.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A thing outside chat that a message points at: nothing is known of it here but its kind and id."""

    kind: str
    id: uuid.UUID

    def __post_init__(self) -> None:
        if self.kind not in ReferenceKind.values:
            raise InvalidInput(f"A reference is one of {', '.join(ReferenceKind.values)}.", field="reference")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A message at one version. `body` is None once it is deleted."""

    id: uuid.UUID
    conversation: uuid.UUID
    seq: int
    sender: uuid.UUID
    client_msg_id: uuid.UUID
    body: str | None
    reference_kind: str | None
    reference_id: uuid.UUID | None
    version: int
    created_at: dt.datetime
    edited_at: dt.datetime | None = None
    deleted_at: dt.datetime | None = None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Told:
        """From the message columns of `statements.READ_INBOX`."""
        names = ("id", "conversation", "seq", "sender", "client_msg_id", "body", "reference_kind", "reference_id")
        more = ("version", "created_at", "edited_at", "deleted_at")
        return cls(**dict(zip(names + more, row, strict=True)))

    @classmethod
    def of(cls, message: Message) -> Told:
        return cls(
            id=message.pk,
            conversation=message.conversation_id,
            seq=message.seq,
            sender=message.sender_id,
            client_msg_id=message.client_msg_id,
            body=message.body,
            reference_kind=message.reference_kind,
            reference_id=message.reference_id,
            version=message.version,
            created_at=message.created_at,
            edited_at=message.edited_at,
            deleted_at=message.deleted_at,
        )

    def as_json(self) -> dict[str, Any]:
        """The `message` of a frame, ids and times as text."""
        reference = None
        if self.reference_kind is not None:
            reference = {"kind": self.reference_kind, "id": str(self.reference_id)}
        return {
            "id": str(self.id),
            "conversation": str(self.conversation),
            "seq": self.seq,
            "sender": str(self.sender),
            "client_msg_id": str(self.client_msg_id),
            "body": self.body,
            "reference": reference,
            "version": self.version,
            "created_at": self.created_at.isoformat(),
            "edited_at": self.edited_at.isoformat() if self.edited_at else None,
            "deleted": self.deleted_at is not None,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What one person's device has to learn: the message as it is now, and the place in that person's stream."""

    recipient: uuid.UUID
    inbox_seq: int
    kind: str
    message: Told

    def as_json(self) -> dict[str, Any]:
        return {"inbox_seq": self.inbox_seq, "kind": self.kind, "message": self.message.as_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """How far `reader` is in a conversation, for the one who wrote there."""

    recipient: uuid.UUID
    conversation: uuid.UUID
    reader: uuid.UUID
    delivered_upto: int
    read_upto: int
