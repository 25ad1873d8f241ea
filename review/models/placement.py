from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from playground.models import Version
from review.models.thread import Thread


class PlacementState(models.TextChoices):
    WRITTEN = "written", "The comment was written on it"
    CARRIED = "carried", "The same words, found again"
    ACCEPTED = "accepted", "A person said that this is the place"
    SUGGESTED = "suggested", "Waits for a person to say whether this is the place"
    OUTDATED = "outdated", "Not in this version"


class PlacementQuerySet(models.QuerySet["Placement"]):
    def settled(self) -> PlacementQuerySet:
        """Those that are a place for certain, from which a thread may be carried on."""
        return self.filter(state__in=[PlacementState.WRITTEN, PlacementState.CARRIED, PlacementState.ACCEPTED])


class Placement(models.Model):
    """Where the passage of a thread is in a version, worked out once: [start, end) in bytes, code points and UTF-16.

    `words` (UTF-8) is what stands there. A person may accept a suggestion, refuse it, or say another place; then
    `decided_by` and `decided_at` say who and when.
    """

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="placements")
    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=16, choices=PlacementState.choices)
    method = models.CharField(max_length=16)
    confidence = models.FloatField(default=1.0)
    text_index = models.PositiveIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    point_start = models.PositiveIntegerField(null=True)
    point_end = models.PositiveIntegerField(null=True)
    unit_start = models.PositiveIntegerField(null=True)
    unit_end = models.PositiveIntegerField(null=True)
    words = models.BinaryField(default=b"")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[PlacementQuerySet] = PlacementQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "version"], name="placement_once"),
            models.CheckConstraint(
                condition=Q(state__in=["written", "carried", "accepted", "suggested", "outdated"]),
                name="placement_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="outdated", text_index=None, start=None, end=None)
                | (~Q(state="outdated") & Q(text_index__isnull=False, start__isnull=False, end__gt=F("start"))),
                name="placement_whole",
            ),
        ]
