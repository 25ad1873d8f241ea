from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from chat.models.message import Message


class InboxKind(models.TextChoices):
    MESSAGE = "message"
    EDITED = "edited"
    DELETED = "deleted"


class Mailbox(models.Model):
    """A person's place in the stream of events for them, and the one device that may speak for them.

    `last_inbox_seq` is raised under this row's lock and the lock is held to commit, so that numbers become visible in
    their order and without holes: who sees n+1 but not n can read n now. A sequence would not promise that.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    last_inbox_seq = models.BigIntegerField(default=0)
    acked_seq = models.BigIntegerField(default=0)
    session_gen = models.BigIntegerField(default=0)
    session_id = models.UUIDField(null=True, help_text="The page that took over last.")
    taken_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(acked_seq__gte=0, acked_seq__lte=F("last_inbox_seq")), name="mailbox_acked_within"
            ),
        ]


class Inbox(models.Model):
    """One event that a person's device has not acknowledged yet. Holds no text: an edit is seen before delivery."""

    pk = models.CompositePrimaryKey("recipient_id", "inbox_seq")
    recipient = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    inbox_seq = models.BigIntegerField()
    kind = models.CharField(max_length=8, choices=InboxKind.choices)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=["message", "edited", "deleted"]), name="inbox_kind_known"),
        ]
