from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.models import User
from chat.models.conversation import Conversation
from core.ids import new_id


class ReferenceKind(models.TextChoices):
    """What a message may point at. The kind and the id are all that chat knows of it."""

    VERSION = "version"
    RUN = "run"
    ACCESS_REQUEST = "access_request"


class MessageQuerySet(models.QuerySet["Message"]):
    def visible_to(self, person: User) -> MessageQuerySet:
        """The messages of this person's conversations, without what they cleared."""
        return self.filter(conversation__members__user=person, seq__gt=F("conversation__members__cleared_before_seq"))

    def search_page(self, asked: str, *, after: uuid.UUID | None, limit: int) -> tuple[list[Message], uuid.UUID | None]:
        """Those with these words, newest first, and the id after which to go on (None on the last page)."""
        words = SearchVector("body", config="simple")
        query = SearchQuery(asked, config="simple", search_type="websearch")
        found = self.annotate(words=words).filter(words=query, deleted_at=None)
        if after is not None:
            found = found.filter(pk__lt=after)
        rows = list(found.order_by("-pk")[: limit + 1])
        return rows[:limit], rows[limit - 1].pk if len(rows) > limit else None

    def newest_first(self) -> MessageQuerySet:
        return self.order_by("-seq")


class Message(models.Model):
    """One message. `seq` orders it, never a clock; `version` grows with each edit; a deleted one keeps its row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    seq = models.BigIntegerField()
    sender = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    client_msg_id = models.UUIDField()
    body = models.TextField(null=True)
    reference_kind = models.CharField(max_length=16, choices=ReferenceKind.choices, null=True)
    reference_id = models.UUIDField(null=True)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    edited_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    objects: ClassVar[MessageQuerySet] = MessageQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [GinIndex(SearchVector("body", config="simple"), name="message_words")]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="message_seq_once"),
            # Also what makes a retry find its first attempt, for ever.
            models.UniqueConstraint(fields=["sender", "client_msg_id"], name="message_client_id_once"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="message_seqs_start_at_1"),
            models.CheckConstraint(
                condition=Q(deleted_at=None, body__isnull=False)
                | Q(deleted_at__isnull=False, body=None, reference_kind=None),
                name="message_deleted_has_no_body",
            ),
            models.CheckConstraint(
                condition=Q(reference_kind=None, reference_id=None)
                | Q(reference_kind__in=["version", "run", "access_request"], reference_id__isnull=False),
                name="message_reference_whole",
            ),
        ]
