from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models import Prompt, Version
from sharing.models.grant import Role


class AccessRequestQuerySet(models.QuerySet["AccessRequest"]):
    def open(self) -> AccessRequestQuerySet:
        return self.filter(status=AccessRequest.Status.OPEN, prompt__trashed_at=None)

    def concerning(self, person: User) -> AccessRequestQuerySet:
        """Those that this person made or, as the owner, may answer."""
        return self.filter(Q(account=person) | Q(prompt__owner=person))


class AccessRequest(models.Model):
    """Somebody asks to see a prompt, usually because a version of it was sent to them in a chat."""

    class Status(models.TextChoices):
        OPEN = "open"
        GRANTED = "granted"
        DECLINED = "declined"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="access_requests")
    # The foreign key on (prompt, version) is in the migration.
    version = models.ForeignKey(
        Version, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_constraint=False
    )
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.OPEN)
    role = models.CharField(max_length=16, choices=Role.choices, blank=True, help_text="What was granted.")
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    answered_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[AccessRequestQuerySet] = AccessRequestQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["prompt", "account"], condition=Q(status="open"), name="request_once_a_person"
            ),
            models.CheckConstraint(condition=Q(status__in=["open", "granted", "declined"]), name="request_status"),
            models.CheckConstraint(
                condition=Q(status="granted") & ~Q(role="") | ~Q(status="granted") & Q(role=""),
                name="request_granted_as",
            ),
        ]
