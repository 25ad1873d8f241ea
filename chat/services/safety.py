"""Keeping people off each other, and telling the operators."""

from __future__ import annotations

import uuid

from accounts.models import User
from chat.models import Block, Message, Report
from chat.models.safety import MAX_REASON_LENGTH
from core.errors import InvalidInput, NotFound


def block_person(*, person: User, peer: User) -> None:
    """No message, typing or presence passes between these two any more. Twice is once. Raises InvalidInput."""
    if person.pk == peer.pk:
        raise InvalidInput("You cannot block yourself.", field="person")
    Block.objects.bulk_create([Block(blocker=person, blocked=peer)], ignore_conflicts=True)


def unblock_person(*, person: User, peer: User) -> None:
    """Undo `block_person`; the other one's block stays."""
    Block.objects.filter(blocker=person, blocked=peer).delete()


def report_message(*, person: User, message_id: uuid.UUID, reason: str = "") -> Report:
    """Keep the text of a message one received, for the operators. A second report is the first one.

    Raises NotFound (absent, deleted, of others, or one's own), InvalidInput for a reason that is too long.
    """
    clean = reason.strip()
    if len(clean) > MAX_REASON_LENGTH or "\0" in clean:
        raise InvalidInput(f"A reason has at most {MAX_REASON_LENGTH:,} characters.", field="reason")
    message = Message.objects.visible_to(person).filter(pk=message_id, deleted_at=None).exclude(sender=person).first()
    if message is None:
        raise NotFound
    Report.objects.bulk_create(
        [Report(message=message, reporter=person, reason=clean, body=message.body or "")], ignore_conflicts=True
    )
    return Report.objects.get(message=message, reporter=person)
