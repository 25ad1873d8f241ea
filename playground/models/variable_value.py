from __future__ import annotations

import json
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.prompt import Prompt


class VariableValueQuerySet(models.QuerySet["VariableValue"]):
    def of(self, person: User, prompt: Prompt) -> VariableValueQuerySet:
        """This person's values for a prompt. Nobody else's are ever read, whatever is shared."""
        return self.filter(person=person, prompt=prompt)


class VariableValue(models.Model):
    """What a person last filled in for a variable of a prompt: theirs alone, on every version and device.

    A row per name, so that two tabs filling in two variables do not overwrite each other. A name outlives its place in
    the text: one that comes back finds its value. `value_json` is a JSON string in ASCII, since a file may hold NUL.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    value_json = models.TextField()
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[VariableValueQuerySet] = VariableValueQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "person", "name"], name="variable_value_once_a_name"),
        ]

    @property
    def value(self) -> str:
        return str(json.loads(self.value_json))
