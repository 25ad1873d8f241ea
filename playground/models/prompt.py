from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Max, Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id

MAX_NAME_LENGTH = 200


class PromptQuerySet(models.QuerySet["Prompt"]):
    def visible_to(self, user: User) -> PromptQuerySet:
        """The prompts this person owns. What others share is read through `sharing`."""
        return self.filter(owner=user)

    def matching(self, words: str) -> PromptQuerySet:
        """Name, description or tag contains `words`, without regard to case."""
        if not words:
            return self
        return self.filter(Q(name__icontains=words) | Q(description__icontains=words) | Q(tags__contains=[words]))

    def with_latest_number(self) -> PromptQuerySet:
        """Adds `latest_number`: the highest version number, null for a prompt without versions."""
        return self.annotate(latest_number=Max("versions__number"))


class Prompt(models.Model):
    """A named prompt of one owner: a tree of versions with branches pointing into it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="prompts")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.CharField(max_length=2000, blank=True)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True, size=50)
    folder = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[PromptQuerySet] = PromptQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at", "-id"], name="prompt_recent_first")]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="prompt_has_a_name"),
        ]
