"""The decisions around `statements.SEND`, for the services and the sockets alike: what goes in, what came out."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from chat.messages import Event, Reference, Told
from chat.models import InboxKind
from chat.text import clean_body
from core.errors import Conflict, DomainError, NotAllowed, NotFound
from core.ids import new_id

#: The constraint whose violation means that a twin of this very send committed first.
ONCE = "message_client_id_once"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """`duplicate`: an earlier attempt had stored it. `event` is then None: it was published once, and drains repair."""

    message: Told
    duplicate: bool
    event: Event | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A checked message on its way. `gen` fences the sender's device; None for callers that are none (HTTP)."""

    id: uuid.UUID
    sender: uuid.UUID
    conversation: uuid.UUID
    client_msg_id: uuid.UUID
    body: str
    reference: Reference | None
    gen: int | None

    def parameters(self) -> dict[str, Any]:
        return {
            "message": self.id,
            "sender": self.sender,
            "conversation": self.conversation,
            "client_msg_id": self.client_msg_id,
            "body": self.body,
            "reference_kind": self.reference.kind if self.reference else None,
            "reference_id": self.reference.id if self.reference else None,
            "gen": self.gen,
            "kind": InboxKind.MESSAGE.value,
        }


def draft(
    *,
    sender: uuid.UUID,
    conversation: uuid.UUID,
    client_msg_id: uuid.UUID,
    body: str,
    reference: Reference | None = None,
    gen: int | None = None,
) -> Draft:
    """Raises InvalidInput for a text that can never be sent (`chat.text`); with a reference there may be none."""
    return Draft(
        id=new_id(),
        sender=sender,
        conversation=conversation,
        client_msg_id=client_msg_id,
        body="" if reference is not None and not body.strip() else clean_body(body),
        reference=reference,
        gen=gen,
    )


def stored(sending: Draft, row: tuple[Any, ...]) -> Sent:
    """From the row of SEND."""
    seq, created_at, peer, inbox_seq = row
    message = Told(
        id=sending.id,
        conversation=sending.conversation,
        seq=seq,
        sender=sending.sender,
        client_msg_id=sending.client_msg_id,
        body=sending.body,
        reference_kind=sending.reference.kind if sending.reference else None,
        reference_id=sending.reference.id if sending.reference else None,
        version=1,
        created_at=created_at,
    )
    event = Event(recipient=peer, inbox_seq=inbox_seq, kind=InboxKind.MESSAGE.value, message=message)
    return Sent(message=message, duplicate=False, event=event)


def explain(sending: Draft, row: tuple[Any, ...]) -> Sent:
    """From the row of WHY_NOT_SENT: the first attempt's message, or why there is none.

    Raises Conflict (`replaced`: another device took over; `id_reused`), NotFound for a conversation that is absent or
    of others, NotAllowed (`cannot_message`), which does not tell a block from an account that is switched off.
    """
    current, is_member, id_, conversation, seq, created_at, body, kind, reference, version = row
    if id_ is None or conversation != sending.conversation:
        raise _refusal(current=current, is_member=is_member, id_used=id_ is not None)
    told = Told(
        id=id_,
        conversation=conversation,
        seq=seq,
        sender=sending.sender,
        client_msg_id=sending.client_msg_id,
        body=body,
        reference_kind=kind,
        reference_id=reference,
        version=version,
        created_at=created_at,
    )
    # An edit since then changed the text: what the first attempt said is not kept, and its id is proof enough.
    if version == 1 and (body, kind, reference) != (
        sending.body,
        sending.reference.kind if sending.reference else None,
        sending.reference.id if sending.reference else None,
    ):
        raise _id_reused()
    return Sent(message=told, duplicate=True)


def cannot_message() -> NotAllowed:
    return NotAllowed("This person cannot be messaged.", code="cannot_message", kept="Your text is still in this page.")


def replaced() -> Conflict:
    return Conflict("Chat is open elsewhere.", code="replaced", next_step="Use it here to go on.")


def _refusal(*, current: bool, is_member: bool, id_used: bool) -> DomainError:
    if not is_member:
        return NotFound()
    if not current:
        return replaced()
    return _id_reused() if id_used else cannot_message()


def _id_reused() -> Conflict:
    return Conflict(
        "This client_msg_id was already used for another message.",
        code="id_reused",
        next_step="Use a new id for a new message.",
    )
