from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def of(self, person: User) -> ConversationQuerySet:
        """The conversations this person takes part in."""
        return self.filter(Q(user_lo=person) | Q(user_hi=person))

    def recent_first(self) -> ConversationQuerySet:
        return self.order_by("-last_message_at", "-id")


class Conversation(models.Model):
    """Two people. `last_seq` is the promised order: it is raised under this row's lock by the send that takes it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user_lo = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    user_hi = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    last_seq = models.BigIntegerField(default=0)
    # No index: it changes with each message, and an index would make each change a new row version in it.
    last_message_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[ConversationQuerySet] = ConversationQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user_lo", "user_hi"], name="conversation_of_two_once"),
            models.CheckConstraint(condition=Q(user_lo__lt=F("user_hi")), name="conversation_people_in_order"),
            models.CheckConstraint(
                condition=Q(started_by=F("user_lo")) | Q(started_by=F("user_hi")), name="conversation_started_by_one"
            ),
        ]

    def peer_of(self, person: User) -> uuid.UUID:
        return self.user_hi_id if self.user_lo_id == person.pk else self.user_lo_id


class Member(models.Model):
    """How far one person is in a conversation. The cursors only grow."""

    pk = models.CompositePrimaryKey("conversation_id", "user_id")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    read_seq = models.BigIntegerField(default=0)
    delivered_seq = models.BigIntegerField(default=0)
    cleared_before_seq = models.BigIntegerField(default=0, help_text="This person no longer sees what is not after it.")
    muted_at = models.DateTimeField(null=True, blank=True)
