from __future__ import annotations

import datetime as dt
import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models import Prompt


class Role(models.TextChoices):
    """What somebody who does not own a prompt may be to it; each may do what the one before it may."""

    VIEWER = "viewer"
    COMMENTER = "commenter"
    EDITOR = "editor"


class GrantQuerySet(models.QuerySet["Grant"]):
    def live(self, now: dt.datetime) -> GrantQuerySet:
        """Those that open something at this instant."""
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=now),
            revoked_at=None,
            account__is_active=True,
            prompt__trashed_at=None,
            prompt__importing=False,
        )

    def of(self, person: User) -> GrantQuerySet:
        """What was shared with this person."""
        return self.filter(account=person)

    def on(self, prompt_id: uuid.UUID) -> GrantQuerySet:
        """Those on a prompt that were not taken back, expired ones included."""
        return self.filter(prompt_id=prompt_id, revoked_at=None)


class Grant(models.Model):
    """A prompt shared with a named person. Taken back, its row stays, so that it can be told who had it until when."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="grants")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=16, choices=Role.choices)
    may_share = models.BooleanField(default=False, help_text="An editor may share it on; otherwise only its owner may.")
    granted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="An instant, never a day.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[GrantQuerySet] = GrantQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["account", "-id"], condition=Q(revoked_at=None), name="grant_of_account")]
        constraints = [
            models.UniqueConstraint(
                fields=["prompt", "account"], condition=Q(revoked_at=None), name="grant_once_a_person"
            ),
            models.CheckConstraint(condition=Q(role__in=["viewer", "commenter", "editor"]), name="grant_role_known"),
            models.CheckConstraint(condition=Q(may_share=False) | Q(role="editor"), name="grant_editors_share"),
        ]
