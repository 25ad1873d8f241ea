from __future__ import annotations

import datetime as dt
import json
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from batches.models.dataset import Dataset, RowSet
from core.ids import new_id
from inference_client.models import Run
from playground.models import Prompt, Version

MOST_VERSIONS = 4
MOST_CHECKS = 10


class BatchState(models.TextChoices):
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    FINISHED = "finished"


class BatchQuerySet(models.QuerySet["Batch"]):
    def there(self) -> BatchQuerySet:
        """Without those that are being deleted."""
        return self.filter(deleting=False)

    def running(self) -> BatchQuerySet:
        return self.filter(state=BatchState.RUNNING)

    def sendable(self, now: dt.datetime) -> BatchQuerySet:
        """Running, and not told to wait for the backend."""
        return self.running().filter(Q(held_until=None) | Q(held_until__lte=now))


class Batch(models.Model):
    """Rows through versions: running <-> paused -> finished | cancelled; back from finished to running by a retry.

    Cells (row by row, in each the versions in their order) get their `BatchItem` when they are sent, so `sent` says
    where the batch is and nothing exists for what is still to come.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="batches")
    maker = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200, blank=True)
    dataset = models.ForeignKey(Dataset, on_delete=models.SET_NULL, null=True, related_name="batches")
    rows = models.ForeignKey(RowSet, on_delete=models.RESTRICT, related_name="batches")
    checks = models.TextField(default="[]", help_text="JSON text: `batches.checks`.")
    state = models.CharField(max_length=16, choices=BatchState.choices, default=BatchState.RUNNING)
    paused_code = models.CharField(max_length=40, blank=True)
    paused_message = models.CharField(max_length=1000, blank=True)
    sent = models.PositiveIntegerField(default=0, help_text="Cells that have an item.")
    cells = models.PositiveIntegerField(help_text="Rows times versions.")
    held_until = models.DateTimeField(null=True, help_text="The backend was away: nothing is sent before.")
    holds = models.PositiveSmallIntegerField(default=0, help_text="Times in a row that the backend was away.")
    failures = models.PositiveSmallIntegerField(default=0, help_text="Runs in a row that failed for their own reasons.")
    deleting = models.BooleanField(
        default=False, db_default=False, help_text="Gone for everybody: its rows are being deleted."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True)

    objects: ClassVar[BatchQuerySet] = BatchQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["prompt", "-id"], name="batch_newest_of_prompt"),
            models.Index(fields=["state", "id"], condition=Q(state__in=["running", "paused"]), name="batch_open"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["running", "paused", "cancelled", "finished"]), name="batch_state_known"
            ),
            models.CheckConstraint(condition=Q(sent__lte=models.F("cells")), name="batch_sends_what_it_has"),
            models.CheckConstraint(
                condition=Q(state__in=["running", "paused"], finished_at=None)
                | Q(state__in=["cancelled", "finished"], finished_at__isnull=False),
                name="batch_finished_when_over",
            ),
            models.CheckConstraint(
                condition=(Q(state="paused") & ~Q(paused_code="")) | (~Q(state="paused") & Q(paused_code="")),
                name="batch_paused_says_why",
            ),
            models.CheckConstraint(
                condition=Q(deleting=False) | Q(state__in=["cancelled", "finished"]), name="batch_deleted_when_over"
            ),
        ]

    @property
    def is_over(self) -> bool:
        return self.state in (BatchState.CANCELLED, BatchState.FINISHED)

    @property
    def check_list(self) -> list[dict[str, Any]]:
        value: list[dict[str, Any]] = json.loads(self.checks)
        return value


class BatchVersion(models.Model):
    """A column of the grid: a version, with another model or other parameters than its own if asked for."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="versions")
    position = models.PositiveSmallIntegerField()
    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="+")
    pointer = models.CharField(max_length=200, help_text="As asked for: a number, a label, a branch.")
    model = models.CharField(max_length=200, help_text="That answers.")
    provider = models.CharField(max_length=16, blank=True)
    parameters = models.TextField(default="{}", help_text="JSON text, in place of the version's own.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "position"], name="batch_version_once"),
            models.CheckConstraint(condition=Q(position__lt=MOST_VERSIONS), name="batch_version_position"),
        ]


class ItemStatus(models.TextChoices):
    WAITING = "waiting", "To be sent again"
    RUNNING = "running"
    CHECKING = "checking", "Answered; another model is to judge it"
    DONE = "done", "Answered; there are no checks"
    PASSED = "passed"
    FAILED = "failed", "A check failed"
    ERROR = "error", "The run or a check could not be done"
    CANCELLED = "cancelled"


OPEN_ITEM = (ItemStatus.WAITING, ItemStatus.RUNNING, ItemStatus.CHECKING)
ENDED_ITEM = (ItemStatus.DONE, ItemStatus.PASSED, ItemStatus.FAILED, ItemStatus.ERROR, ItemStatus.CANCELLED)
#: How much of an answer its cell keeps, for the grid and its search.
EXCERPT_LENGTH = 2000


class BatchItem(models.Model):
    """A cell: one row sent to one version. What the grid shows of its run is kept here, so that it reads one table.

    `attempt` counts the times that it was sent, from 0; `judging` is the number of the check a model is asked about.
    """

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="items", db_index=False)
    row = models.PositiveIntegerField()
    position = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=16, choices=ItemStatus.choices, default=ItemStatus.RUNNING)
    attempt = models.PositiveSmallIntegerField(default=0)
    breaks = models.PositiveSmallIntegerField(default=0, help_text="Times that an answer broke off.")
    run = models.OneToOneField(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    verdicts = models.TextField(default="[]", help_text="JSON in ASCII: [verdict, reason] for each check.")
    marks = models.CharField(max_length=MOST_CHECKS, blank=True, help_text="First letters of the verdicts.")
    excerpt = models.TextField(blank=True, help_text="The beginning of the answer, without NUL.")
    output_chars = models.PositiveIntegerField(default=0)
    output_digest = models.BinaryField(max_length=16, default=b"", help_text="Tells answers apart.")
    stop_reason = models.CharField(max_length=64, blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=1000, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    ttft_ms = models.PositiveIntegerField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    judging = models.PositiveSmallIntegerField(null=True)
    judging_attempt = models.PositiveSmallIntegerField(default=0)
    judging_runs = models.PositiveSmallIntegerField(default=0)
    judging_input_tokens = models.PositiveIntegerField(default=0)
    judging_output_tokens = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["batch", "status", "row"], name="item_by_status"),
            models.Index(fields=["batch", "ended_at"], name="item_by_end"),
            models.Index(fields=["batch", "row", "position"], condition=Q(status__in=OPEN_ITEM), name="item_open"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["batch", "row", "position"], name="item_once"),
            models.CheckConstraint(condition=Q(status__in=ItemStatus.values), name="item_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=OPEN_ITEM, ended_at=None) | Q(status__in=ENDED_ITEM, ended_at__isnull=False),
                name="item_ended_at",
            ),
            models.CheckConstraint(
                condition=Q(status="checking", judging__isnull=False) | (~Q(status="checking") & Q(judging=None)),
                name="item_judged_while_checking",
            ),
        ]


class BatchRun(models.Model):
    """Which cell a run was made for: its answer (`judged` null), or the judgement of one of its checks.

    There is one run for each purpose, whose id is its idempotency key at the backend: a step that is done twice is
    refused by the database before anything is sent. It goes with its run, which goes before its cell: so the cells of
    a batch, 400,000 at most, are deleted by one statement without being read.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+")
    item = models.ForeignKey(BatchItem, on_delete=models.DO_NOTHING, related_name="runs")
    attempt = models.PositiveSmallIntegerField()
    judged = models.PositiveSmallIntegerField(null=True)
    judging_attempt = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "attempt", "judged", "judging_attempt"], nulls_distinct=False, name="batch_run_once"
            ),
        ]
