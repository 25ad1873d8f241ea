from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Func
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.prompt import Prompt
from playground.models.version import Version


class DraftQuerySet(models.QuerySet["Draft"]):
    def of(self, person: User, prompt: Prompt) -> DraftQuerySet:
        """This person's drafts of a prompt. Nobody else's are ever read, whatever is shared."""
        return self.filter(person=person, prompt=prompt)

    def with_length(self) -> DraftQuerySet:
        """Adds `content_bytes`, for lists that leave the content where it is."""
        length = Func(F("content"), function="octet_length", output_field=models.IntegerField())
        return self.select_related("base").annotate(content_bytes=length)


class Draft(models.Model):
    """What a person has written on a branch and not saved: theirs alone, and never a version.

    `content` is the page's JSON text, kept verbatim: it may hold half a spec. `revision` is the fence between two
    tabs. It only grows, also over the removal of a draft and the start of the next one.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="drafts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    branch = models.CharField(max_length=100, help_text="A name: the branch need not exist yet.")
    # The foreign key on (prompt, base) is in the migration: a base is always of the same prompt.
    base = models.ForeignKey(
        Version, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_constraint=False
    )
    content = models.TextField()
    revision = models.BigIntegerField()
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[DraftQuerySet] = DraftQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "person", "branch"], name="draft_once_a_branch"),
        ]
