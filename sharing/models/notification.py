from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models import MAX_NAME_LENGTH, Prompt


class NotificationQuerySet(models.QuerySet["Notification"]):
    def of(self, person: User) -> NotificationQuerySet:
        """This person's, of prompts that are not in the trash."""
        return self.filter(account=person, prompt__trashed_at=None)

    def unseen(self) -> NotificationQuerySet:
        return self.filter(seen_at=None)


class Notification(models.Model):
    """Something about a prompt that a person is told in the application.

    `kind` is a word such as `shared`, `role_changed`, `ownership_offered`, `access_requested`, `mentioned`; `subject`
    the id of what it is about, of whatever table the kind says.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=32)
    name = models.CharField(
        max_length=MAX_NAME_LENGTH, blank=True, help_text="The prompt's when they could see it: a later one may not be."
    )
    subject: models.UUIDField[uuid.UUID | None, uuid.UUID | None] = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[NotificationQuerySet] = NotificationQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["account", "-id"], name="notification_newest"),
            models.Index(fields=["account"], condition=Q(seen_at=None), name="notification_unseen"),
        ]
