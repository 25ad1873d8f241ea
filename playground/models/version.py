from __future__ import annotations

import json
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from inference_client.models import Run
from playground.models.history import insert_only
from playground.models.prompt import Prompt

MAX_MESSAGE_LENGTH = 5000


class VersionQuerySet(models.QuerySet["Version"]):
    def recent_first(self) -> VersionQuerySet:
        return self.order_by("-number")

    def parent_numbers(self) -> dict[int, tuple[int, ...]]:
        """The whole tree in one query, newest first: each number with its parents' (a merged one last)."""
        rows = self.recent_first().values_list("number", "parent__number", "merged_parent__number")
        return {number: tuple(parent for parent in parents if parent) for number, *parents in rows}


class Version(models.Model):
    """One saved state of a prompt. Insert-only: a trigger refuses UPDATE and DELETE (author may become null).

    `spec` is JSON text with texts by reference (`{"body": sha256}`), keys in the order they were written. `digest` is
    the SHA-256 of its canonical form (RFC 8785), so equal digests mean equal requests.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    # Foreign keys on (prompt, parent) are in the first migration: a parent is always of the same prompt.
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="children", db_constraint=False
    )
    merged_parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_constraint=False
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    message = models.CharField(max_length=MAX_MESSAGE_LENGTH, blank=True)
    model = models.CharField(max_length=200)
    spec = models.TextField()
    digest = models.BinaryField(max_length=32)
    acl_epoch = models.BigIntegerField(
        default=0, db_default=0, help_text="The prompt's when it was made: an older decision never shows it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[VersionQuerySet] = VersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "number"], name="version_number_once"),
            models.UniqueConstraint(fields=["prompt", "id"], name="version_of_its_prompt"),
            models.CheckConstraint(condition=Q(number__gte=1), name="version_numbers_start_at_1"),
            models.CheckConstraint(condition=~Q(parent=F("id")), name="version_is_not_its_parent"),
            models.CheckConstraint(
                condition=Q(merged_parent=None) | Q(parent__isnull=False) & ~Q(merged_parent=F("parent")),
                name="version_merges_another_line",
            ),
        ]
        triggers = [insert_only("version_insert_only", what="a version", person="author_id")]

    @property
    def frozen(self) -> dict[str, Any]:
        """The spec as plain JSON values, texts as `{"body": sha256}`."""
        spec: dict[str, Any] = json.loads(self.spec)
        return spec

    @property
    def digest_hex(self) -> str:
        return bytes(self.digest).hex()


class VersionRunQuerySet(models.QuerySet["VersionRun"]):
    def visible_to(self, user: User) -> VersionRunQuerySet:
        """This person's runs, of prompts that they may still see and that are not in the trash."""
        readable = Prompt.objects.readable_by(user).filter(trashed_at=None)
        return self.filter(run__account=user, version__prompt__in=readable)


class VersionRun(models.Model):
    """Which version a run sent, and the variable values it was filled with (JSON text, so that any text fits)."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="runs")
    variables = models.TextField(default="{}")

    objects: ClassVar[VersionRunQuerySet] = VersionRunQuerySet.as_manager()  # type: ignore[assignment]
