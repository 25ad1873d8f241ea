from __future__ import annotations

import json
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.prompt import Prompt

MAX_TOOL_NAME = 200


class ToolResultQuerySet(models.QuerySet["ToolResult"]):
    def typed_by(self, person: User, prompt: Prompt, tool: str) -> ToolResultQuerySet:
        """What this person answered calls of `tool` with in this prompt, the last used first. Nobody else's."""
        return self.filter(account=person, prompt=prompt, tool=tool).order_by("-used_at", "-pk")


class ToolResult(models.Model):
    """A result that a person gave to a call of a tool, kept once, to be given again.

    `content_json` is the text as JSON in ASCII: a result may hold NUL, which PostgreSQL's text cannot.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    tool = models.CharField(max_length=MAX_TOOL_NAME)
    content_json = models.TextField()
    is_error = models.BooleanField(default=False)
    digest = models.BinaryField(max_length=32, help_text="SHA-256 of content and error flag: what makes it one.")
    used_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[ToolResultQuerySet] = ToolResultQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "prompt", "tool", "digest"], name="tool_result_once"),
        ]
        indexes = [
            models.Index(fields=["account", "prompt", "tool", "-used_at"], name="tool_result_newest"),
        ]

    @property
    def content(self) -> str:
        return str(json.loads(self.content_json))
