from __future__ import annotations

import json
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.prompt import Prompt

MIN_COLUMNS, MAX_COLUMNS = 2, 4
MAX_REPETITIONS = 20


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    def visible_to(self, user: User) -> ComparisonQuerySet:
        """This person's, of prompts that they may still see and that are not in the trash."""
        return self.filter(account=user, prompt__in=Prompt.objects.readable_by(user).filter(trashed_at=None))


class Comparison(models.Model):
    """One set of values sent through two to four columns, each some times over. Its runs are the VersionRuns naming it.

    `columns_json`: a list of `{"version": number, "model": id or null, "parameters": overrides}`; `variables`: the
    values as given. Both are JSON text, so that any text fits and the order of keys stays.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="comparisons", db_index=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    columns_json = models.TextField()
    variables = models.TextField(default="{}")
    repetitions = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[ComparisonQuerySet] = ComparisonQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["prompt", "account", "-id"], name="comparison_newest")]
        constraints = [
            models.CheckConstraint(
                condition=Q(repetitions__gte=1, repetitions__lte=MAX_REPETITIONS), name="comparison_repetitions"
            ),
        ]

    @property
    def columns(self) -> list[dict[str, Any]]:
        value: list[dict[str, Any]] = json.loads(self.columns_json)
        return value
