"""Saying something, and taking it back. Events leave after commit; a socket says the same in its own words."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.db import IntegrityError, connection, transaction

from accounts.models import User
from chat import announcing, changing, sending, statements
from chat.limits import Buckets
from chat.messages import Reference, Told
from chat.models import Conversation
from chat.sending import Draft, Sent
from core import bus, metrics
from core.effects import after_commit
from core.errors import RateLimited

#: Of one sender in this process, whichever way the messages come.
SENDS = Buckets(capacity=60, refill_per_s=1, clock=time.monotonic)


def send_message(
    *,
    sender: User,
    conversation: Conversation,
    client_msg_id: uuid.UUID,
    body: str,
    reference: Reference | None = None,
) -> Sent:
    """Keep a message and tell the other one. A repeated `client_msg_id` finds the first attempt, for ever.

    Raises InvalidInput (text), RateLimited, NotFound (absent or of others), NotAllowed (`cannot_message`), Conflict
    (`id_reused`).
    """
    asked = sending.draft(
        sender=sender.pk, conversation=conversation.pk, client_msg_id=client_msg_id, body=body, reference=reference
    )
    check_rate(sender.pk)
    sent = _store(asked)
    if sent.event is not None:
        after_commit(bus.publish, *announcing.event(sent.event))
        after_commit(bus.publish, *announcing.own(sender.pk, "message", sent.message))
    return sent


def check_rate(sender: uuid.UUID) -> None:
    """Takes a token of the sender's. Raises RateLimited."""
    wait_s = SENDS.take(sender)
    if wait_s:
        raise RateLimited("Too many messages at once.", retry_after_s=int(wait_s) + 1, kept="Your text is kept.")


def edit_message(*, sender: User, message_id: uuid.UUID, body: str) -> Told:
    """Another text for an own message of the last 15 minutes. The same text again changes nothing.

    Raises InvalidInput, NotFound (absent, deleted or of others), NotAllowed (`too_old`, `cannot_message`).
    """
    return _change(changing.edit(sender=sender.pk, message=message_id, body=body))


def delete_message(*, sender: User, message_id: uuid.UUID) -> Told:
    """Take an own message back: its text is gone for both, its place stays. Twice is once. Raises NotFound."""
    return _change(changing.delete(sender=sender.pk, message=message_id))


def _store(asked: Draft) -> Sent:
    try:
        with transaction.atomic():
            row = _one(statements.SEND, asked.parameters())
    except IntegrityError as error:
        if sending.ONCE not in str(error):
            raise
        row = None
    if row is not None:
        metrics.CHAT_SENT.labels("stored").inc()
        return sending.stored(asked, row)
    why = _one(statements.WHY_NOT_SENT, asked.parameters())
    if why is None:
        raise AssertionError("WHY_NOT_SENT answers one row")
    sent = sending.explain(asked, why)
    metrics.CHAT_SENT.labels("duplicate").inc()
    return sent


def _change(asked: changing.Change) -> Told:
    with transaction.atomic():
        row = _one(asked.statement, asked.parameters())
        if row is None:
            return changing.explain(asked, _one(statements.WHY_NOT_CHANGED, asked.parameters()))
        event = changing.changed(asked, row)
        after_commit(bus.publish, *announcing.event(event))
        after_commit(bus.publish, *announcing.own(asked.sender, event.kind, event.message))
    return event.message


def _one(statement: str, parameters: dict[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row
