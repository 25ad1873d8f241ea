"""Starting a conversation, and each person's own place in it."""

from __future__ import annotations

import datetime as dt

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

from accounts.models import User
from chat import announcing, sending, statements
from chat.messages import Receipt
from chat.models import Block, Conversation, Mailbox, Member
from core import bus
from core.effects import after_commit
from core.errors import NotFound, RateLimited

MAX_STARTED = 5
STARTED_WITHIN = dt.timedelta(minutes=1)


def start_conversation(*, person: User, peer: User) -> Conversation:
    """The conversation of these two, made if there is none yet.

    Raises NotAllowed (`cannot_message`) for oneself, a blocked or a switched-off account, without saying which;
    RateLimited beyond MAX_STARTED new ones a minute.
    """
    if person.pk == peer.pk or not peer.is_active or _blocked(person, peer):
        raise sending.cannot_message()
    lo, hi = sorted((person, peer), key=lambda each: each.pk)
    found = Conversation.objects.filter(user_lo=lo, user_hi=hi).first()
    if found is not None:
        return found
    with transaction.atomic():
        Mailbox.objects.bulk_create([Mailbox(user=each) for each in (lo, hi)], ignore_conflicts=True)
        # The lock makes the count true: ten requests at the same time are counted one after the other.
        Mailbox.objects.select_for_update().get(pk=person.pk)
        since = timezone.now() - STARTED_WITHIN
        if Conversation.objects.filter(started_by=person, created_at__gt=since).count() >= MAX_STARTED:
            raise RateLimited("Too many new conversations at once.", retry_after_s=60)
        Conversation.objects.bulk_create(
            [Conversation(user_lo=lo, user_hi=hi, started_by=person)], ignore_conflicts=True
        )
        conversation = Conversation.objects.get(user_lo=lo, user_hi=hi)
        Member.objects.bulk_create(
            [Member(conversation=conversation, user=each) for each in (lo, hi)], ignore_conflicts=True
        )
    return conversation


def mark_read(*, person: User, conversation: Conversation, upto_seq: int) -> Receipt:
    """Everything up to `upto_seq` was read. Going back changes nothing. Raises NotFound for who is no member."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            statements.MARK_READ, {"person": person.pk, "conversation": conversation.pk, "upto": max(0, upto_seq)}
        )
        row = cursor.fetchone()
        if row is None:
            raise NotFound
        receipt = Receipt(
            recipient=row[0],
            conversation=conversation.pk,
            reader=person.pk,
            delivered_upto=row[1],
            read_upto=row[2],
        )
        if not row[3]:
            after_commit(bus.publish, *announcing.receipt(receipt))
    return receipt


def mute_conversation(*, person: User, conversation: Conversation, muted: bool) -> Member:
    """Muted: it still counts its unread, but neither the badge nor a notification tells. Raises NotFound."""
    member = _member(person, conversation)
    Member.objects.filter(conversation=conversation, user=person).update(muted_at=timezone.now() if muted else None)
    member.refresh_from_db()
    return member


def clear_conversation(*, person: User, conversation: Conversation, upto_seq: int) -> Member:
    """Take what is up to `upto_seq` out of this person's sight; the other one keeps it. Raises NotFound."""
    member = _member(person, conversation)
    last_seq = Conversation.objects.values_list("last_seq", flat=True).get(pk=conversation.pk)
    Member.objects.filter(conversation=conversation, user=person).update(
        cleared_before_seq=Greatest(F("cleared_before_seq"), min(max(0, upto_seq), last_seq))
    )
    member.refresh_from_db()
    return member


def _member(person: User, conversation: Conversation) -> Member:
    member = Member.objects.filter(conversation=conversation, user=person).first()
    if member is None:
        raise NotFound
    return member


def _blocked(one: User, other: User) -> bool:
    return Block.objects.filter(Q(blocker=one, blocked=other) | Q(blocker=other, blocked=one)).exists()
