from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from batches.rows import EDITABLE_BYTES, EDITABLE_ROWS, MOST_BYTES
from core.ids import new_id
from playground.models import Prompt, StagedFile


class RowSet(models.Model):
    """Rows that never change: what a batch runs over stays what it was while its dataset is written on.

    A change of a dataset makes another set; the earlier one goes, unless a batch has it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    columns = models.JSONField(default=list, help_text="Names of variables, in the order of the file.")
    missing = models.JSONField(default=dict, help_text="By name, how many rows do not set it.")
    count = models.PositiveIntegerField(default=0)
    expected_count = models.PositiveIntegerField(default=0, help_text="Rows with an expected text.")
    length = models.BigIntegerField(default=0, help_text="Of the rows as JSON.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)


class RowChunk(models.Model):
    """Some hundred rows, packed (`batches.rows`)."""

    rows = models.ForeignKey(RowSet, on_delete=models.CASCADE, related_name="chunks")
    first = models.PositiveIntegerField(help_text="Number of its first row, from 0.")
    count = models.PositiveSmallIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rows", "first"], name="row_chunk_once")]


class Dataset(models.Model):
    """Test cases of a prompt under a name. `rows` is null until its file is read."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="datasets")
    maker = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=200)
    rows = models.ForeignKey(RowSet, on_delete=models.RESTRICT, null=True, related_name="datasets")
    revision = models.PositiveIntegerField(default=1, help_text="Grows with each change of its rows.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["prompt", "-id"], name="dataset_newest_of_prompt")]

    @property
    def is_editable(self) -> bool:
        return self.rows is not None and self.rows.count <= EDITABLE_ROWS and self.rows.length <= EDITABLE_BYTES


class DatasetFileQuerySet(models.QuerySet["DatasetFile"]):
    def open(self) -> DatasetFileQuerySet:
        """Those that have not ended."""
        return self.filter(status__in=DatasetFile.OPEN)


class DatasetFile(StagedFile):
    """A file that a worker makes a dataset of.

    A worker owns the row while `claim` is its own. Every change it makes names the claim, so a worker that was taken
    for dead, or whose dataset was deleted, finds out at its next step and changes nothing any more.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "The bytes are awaited"
        QUEUED = "queued", "A worker is awaited"
        READING = "reading", "A worker reads it"
        READY = "ready", "Its rows are in the dataset"
        FAILED = "failed", "It made nothing; `error_code` says why"

    class Format(models.TextChoices):
        CSV = "csv"
        JSONL = "jsonl"

    OPEN = (Status.PENDING, Status.QUEUED, Status.READING)

    dataset = models.OneToOneField(Dataset, on_delete=models.CASCADE, primary_key=True, related_name="file")
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    format = models.CharField(max_length=8, choices=Format.choices)
    columns = models.TextField(default="{}", help_text="JSON: from names of the file to variables, or null.")
    expected = models.TextField(default="null", help_text="JSON: name of the column of expected texts, as asked for.")
    skips_bad_rows = models.BooleanField(default=False)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    bytes_read = models.BigIntegerField(default=0)
    rows_read = models.PositiveIntegerField(default=0)
    problem_count = models.PositiveIntegerField(default=0)
    problems = models.TextField(default="[]", help_text="JSON in ASCII: the first of them.")
    warnings = models.TextField(default="[]", help_text="JSON in ASCII.")
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=1000, blank=True)
    claim = models.UUIDField(null=True, blank=True, help_text="Of the worker that has it.")
    seen_at = models.DateTimeField(default=timezone.now, help_text="When it last moved.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[DatasetFileQuerySet] = DatasetFileQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["account", "status"], name="dataset_file_of_account"),
            models.Index(fields=["status", "seen_at"], name="dataset_file_to_resend"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(size__gte=0, size__lte=MOST_BYTES), name="dataset_file_size"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "queued", "reading", "ready", "failed"]), name="dataset_file_status"
            ),
            models.CheckConstraint(
                condition=Q(status="reading", claim__isnull=False) | (~Q(status="reading") & Q(claim=None)),
                name="dataset_file_reading_has_a_claim",
            ),
            models.CheckConstraint(
                condition=(Q(status="failed") & ~Q(error_code="")) | (~Q(status="failed") & Q(error_code="")),
                name="dataset_file_failed_says_why",
            ),
        ]
