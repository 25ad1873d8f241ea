from __future__ import annotations

import datetime as dt
import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from playground.models.draft import Draft
from playground.models.prompt import Prompt
from playground.models.staged_file import StagedFile

#: Of a text, and so of an upload. Base and text of a delta together must fit the largest window a decoder accepts.
MAX_UPLOAD_BYTES = 64 * 1024 * 1024


class UploadQuerySet(models.QuerySet["Upload"]):
    def of(self, account: User) -> UploadQuerySet:
        """The uploads this person started. Nobody else ever sees them, the owner of the prompt included."""
        return self.filter(account=account)

    def open(self) -> UploadQuerySet:
        """Those whose bytes are awaited or being read."""
        return self.filter(status__in=[Upload.Status.PENDING, Upload.Status.PROCESSING])

    def going_on(self, *, prompt: Prompt, sha256: bytes, part_hashes: bytes, now: dt.datetime) -> UploadQuerySet:
        """Those that take the same bytes in the same parts, or have all of them already."""
        same = self.open().filter(prompt=prompt, sha256=sha256, part_hashes=part_hashes)
        return same.filter(Q(status=Upload.Status.PROCESSING) | Q(expires_at__gt=now))

    def in_a_draft(self) -> UploadQuerySet:
        """Those that somebody's unsaved work names."""
        return self.filter(self._in_a_draft())

    def in_no_draft(self) -> UploadQuerySet:
        return self.filter(~self._in_a_draft())

    @staticmethod
    def _in_a_draft() -> Exists:
        written = Cast(OuterRef("pk"), models.TextField())
        return Exists(Draft.objects.filter(prompt=OuterRef("prompt"), content__contains=written))

    def complete_by(self, *, account: User, prompt: Prompt, ids: set[uuid.UUID]) -> UploadQuerySet:
        """Those of `ids` that this person may put into a version of `prompt`."""
        return self.of(account).filter(prompt=prompt, pk__in=ids, status=Upload.Status.COMPLETE)


class Upload(StagedFile):
    """A text on its way to the store. The signed address and later the packing task hold it to size and SHA-256."""

    class Status(models.TextChoices):
        PENDING = "pending", "The bytes are awaited"
        PROCESSING = "processing", "The bytes are being checked and packed"
        COMPLETE = "complete", "A version may refer to it"
        FAILED = "failed", "It will never be usable; `error_code` says why"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="uploads")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    near = models.BinaryField(
        max_length=32, null=True, blank=True, help_text="SHA-256 of the text of this prompt it was edited from."
    )
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    error_code = models.CharField(max_length=40, blank=True)
    error_position = models.BigIntegerField(null=True, blank=True, help_text="The first byte that is not UTF-8.")
    body_sha256 = models.BinaryField(max_length=32, null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    processing_at = models.DateTimeField(null=True, blank=True, help_text="When the packing was last asked for.")
    completed_at = models.DateTimeField(null=True, blank=True, help_text="When it became complete or failed.")

    objects: ClassVar[UploadQuerySet] = UploadQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["account", "status"], name="upload_open_of_account"),
            models.Index(fields=["status", "expires_at"], name="upload_expiring"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=0, size__lte=MAX_UPLOAD_BYTES), name="upload_size"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "processing", "complete", "failed"]), name="upload_status"
            ),
            models.CheckConstraint(
                condition=Q(multipart_id="") | Q(part_hashes__isnull=False), name="upload_multipart_has_parts"
            ),
            models.CheckConstraint(
                condition=Q(status="complete", body_sha256__isnull=False)
                | (~Q(status="complete") & Q(body_sha256=None)),
                name="upload_complete_has_a_body",
            ),
            models.CheckConstraint(
                condition=(Q(status="failed") & ~Q(error_code="")) | (~Q(status="failed") & Q(error_code="")),
                name="upload_failed_says_why",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "processing"], completed_at=None)
                | Q(status__in=["complete", "failed"], completed_at__isnull=False),
                name="upload_ended_at",
            ),
        ]
