from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django.db.models.functions import Now

from core.ids import new_id
from playground.models import Prompt, Version


class ThreadQuerySet(models.QuerySet["Thread"]):
    def on(self, prompt: Prompt) -> ThreadQuerySet:
        """All threads of a prompt. Who asks was let in by `playground.access`."""
        return self.filter(prompt=prompt)

    def open(self) -> ThreadQuerySet:
        return self.filter(resolved_at=None)

    def resolved(self) -> ThreadQuerySet:
        return self.filter(resolved_at__isnull=False)

    def with_counts(self) -> ThreadQuerySet:
        """Adds `comment_count`: of comments that were not deleted."""
        return self.annotate(comment_count=Count("comments", filter=Q(comments__deleted_at=None)))


class Thread(models.Model):
    """A conversation about a passage of a version, or (without a passage) about the whole of it.

    The passage is where and what the first comment was written on, and never changes: bytes [start, end) of a text of
    `version`, its words and what stood around them in UTF-8 (a text of PostgreSQL cannot hold NUL, a passage can).
    Where it is in other versions is a `Placement`.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="threads")
    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    text_index = models.PositiveIntegerField(null=True)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    quote = models.BinaryField(default=b"")
    prefix = models.BinaryField(default=b"")
    suffix = models.BinaryField(default=b"")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects: ClassVar[ThreadQuerySet] = ThreadQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(text_index=None, start=None, end=None)
                | Q(text_index__isnull=False, start__isnull=False, end__gt=models.F("start")),
                name="thread_passage_whole",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="thread_passage_fixed",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="""
                    IF (NEW.prompt_id, NEW.version_id, NEW.text_index, NEW.start, NEW."end", NEW.quote) IS DISTINCT FROM
                       (OLD.prompt_id, OLD.version_id, OLD.text_index, OLD.start, OLD."end", OLD.quote)
                    THEN
                        RAISE EXCEPTION 'what a thread is about never changes' USING ERRCODE = 'restrict_violation';
                    END IF;
                    RETURN NEW;
                """,
            )
        ]

    @property
    def is_on_passage(self) -> bool:
        return self.text_index is not None
