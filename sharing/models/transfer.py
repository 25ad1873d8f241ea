from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models import Prompt


class OwnershipTransferQuerySet(models.QuerySet["OwnershipTransfer"]):
    def open(self) -> OwnershipTransferQuerySet:
        return self.filter(status=OwnershipTransfer.Status.OPEN, prompt__trashed_at=None)

    def concerning(self, person: User) -> OwnershipTransferQuerySet:
        """Those that this person made or may answer."""
        return self.filter(Q(from_account=person) | Q(to_account=person))


class OwnershipTransfer(models.Model):
    """An offer of a prompt to another person. Nothing changes until it is accepted."""

    class Status(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="transfers")
    from_account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    to_account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.OPEN)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    answered_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[OwnershipTransferQuerySet] = OwnershipTransferQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt"], condition=Q(status="open"), name="transfer_one_offer"),
            models.CheckConstraint(
                condition=Q(status__in=["open", "accepted", "declined", "withdrawn"]), name="transfer_status_known"
            ),
            models.CheckConstraint(
                condition=Q(status="open", answered_at=None) | ~Q(status="open") & Q(answered_at__isnull=False),
                name="transfer_answered_at",
            ),
        ]
