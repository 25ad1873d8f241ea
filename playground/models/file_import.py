from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.prompt import Prompt
from playground.models.staged_file import StagedFile

#: Of a zip file; JSON is read in one piece and may have a quarter of that.
MAX_IMPORT_BYTES = 256 * 1024 * 1024
MAX_JSON_IMPORT_BYTES = 64 * 1024 * 1024


class FileImportQuerySet(models.QuerySet["FileImport"]):
    def of(self, account: User) -> FileImportQuerySet:
        """Those of this person: nobody else sees them."""
        return self.filter(account=account)

    def open(self) -> FileImportQuerySet:
        """Those that have not ended."""
        return self.filter(status__in=FileImport.OPEN)


class FileImport(StagedFile):
    """A file with a whole tree that a worker takes in: too large, or too many versions, for one request.

    A worker owns the row while `claim` is its own. Every change it makes names the claim, so a worker that was taken
    for dead, or whose import was cancelled, finds out at its next step and changes nothing any more.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "The bytes are awaited"
        QUEUED = "queued", "A worker is awaited"
        RUNNING = "running", "A worker takes it in"
        DONE = "done", "Its versions are in the prompt"
        FAILED = "failed", "It made nothing; `error_code` says why"

    class Format(models.TextChoices):
        ZIP = "zip"
        JSON = "json"

    OPEN = (Status.PENDING, Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    into = models.ForeignKey(
        Prompt, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Or a new prompt is made."
    )
    prompt = models.ForeignKey(
        Prompt,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="What it makes or adds to.",
    )
    format = models.CharField(max_length=8, choices=Format.choices)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    name = models.CharField(max_length=200, blank=True, help_text="Of the prompt, as the file says.")
    versions_total = models.IntegerField(default=0)
    versions_read = models.IntegerField(default=0, help_text="Those whose texts are stored.")
    versions_made = models.IntegerField(default=0)
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=1000, blank=True)
    claim = models.UUIDField(null=True, blank=True, help_text="Of the worker that has it.")
    seen_at = models.DateTimeField(default=timezone.now, help_text="When it last moved.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[FileImportQuerySet] = FileImportQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["account", "status"], name="import_open_of_account"),
            models.Index(fields=["status", "seen_at"], name="import_to_resend"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=0, size__lte=MAX_IMPORT_BYTES), name="import_size"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "queued", "running", "done", "failed"]), name="import_status"
            ),
            models.CheckConstraint(
                condition=Q(status="running", claim__isnull=False) | (~Q(status="running") & Q(claim=None)),
                name="import_running_has_a_claim",
            ),
            models.CheckConstraint(
                condition=(Q(status="failed") & ~Q(error_code="")) | (~Q(status="failed") & Q(error_code="")),
                name="import_failed_says_why",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["done", "failed"], ended_at__isnull=False)
                | (~Q(status__in=["done", "failed"]) & Q(ended_at=None)),
                name="import_ended_at",
            ),
        ]
