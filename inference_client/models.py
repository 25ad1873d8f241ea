"""A run: one Messages API request, sent once to a model, and all that came of it."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id


class RunStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (RunStatus.QUEUED, RunStatus.RUNNING)
TERMINAL = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED)

#: What a list leaves in the database: a request may hold tens of megabytes.
HEAVY_FIELDS = ("request", "wire_request", "output_json", "response_json", "structured_json")


#: How much of an answer its row in a list shows, in characters.
EXCERPT_LENGTH = 200


class Provider(models.TextChoices):
    """Who runs the model."""

    SELF_HOSTED = "self-hosted", "This server"
    ANTHROPIC = "anthropic", "Anthropic"


class RunKind(models.TextChoices):
    """What a run was made for. A batch makes thousands, which a list of what people ran leaves out."""

    SINGLE = "single", "Single"
    COMPARISON = "comparison", "Comparison"
    BATCH = "batch", "Batch"


class RunQuerySet(models.QuerySet["Run"]):
    def visible_to(self, user: User | AnonymousUser) -> RunQuerySet:
        """The runs `user` may see: their own."""
        return self.filter(account_id=user.pk) if user.is_authenticated else self.none()

    def lightly(self) -> RunQuerySet:
        """Without the request and the answer, for lists."""
        return self.defer(*HEAVY_FIELDS)

    def stuck(self, now: dt.datetime) -> RunQuerySet:
        """Running, but the worker has not renewed its lease: it is dead, or cut off from the database."""
        return self.filter(status=RunStatus.RUNNING, lease_expires_at__lt=now)

    def unsent(self, now: dt.datetime) -> RunQuerySet:
        """Queued for so long that the message to the worker may be lost."""
        return self.filter(status=RunStatus.QUEUED, resend_at__lte=now)


class Run(models.Model):
    """queued -> running -> succeeded | failed | cancelled; back to queued only before the first token.

    `attempt` counts the claims and is the fence: whoever claimed attempt n may write only while it is still n.
    Text that a model wrote may hold NUL, which PostgreSQL's text cannot: it is kept as JSON in ASCII.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    model = models.CharField(max_length=200)
    provider = models.CharField(max_length=16, choices=Provider.choices, default=Provider.SELF_HOSTED)
    kind = models.CharField(max_length=16, choices=RunKind.choices, default=RunKind.SINGLE)
    group_id = models.UUIDField(null=True, help_text="What runs are listed by, named by the app that made them.")
    subject_id = models.UUIDField(null=True, help_text="What was run, a part of the group, named likewise.")
    api_version = models.CharField(max_length=32)
    request = models.TextField(help_text="The JSON body to send.")
    request_sha256 = models.BinaryField(max_length=32, help_text="SHA-256 of the body in canonical form (RFC 8785).")
    wire_request = models.TextField(
        null=True, help_text="What was really sent, kept only if it differs canonically from `request`: a bug."
    )
    status = models.CharField(max_length=16, choices=RunStatus.choices, default=RunStatus.QUEUED)
    cancel_requested_at = models.DateTimeField(null=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(default=timezone.now, help_text="Not to be claimed before.")
    resend_at = models.DateTimeField(default=timezone.now, help_text="Still queued then: tell the worker again.")
    queued_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True)
    first_token_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    output_json = models.TextField(default='""')
    response_json = models.TextField(default="null")
    structured_json = models.TextField(
        default="null", help_text="Whether the answer follows the schema that the request asks for."
    )
    stop_reason = models.CharField(max_length=64, blank=True, default="")
    error_code = models.CharField(max_length=64, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    upstream_request_id = models.CharField(max_length=128, blank=True, default="")
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    excerpt = models.CharField(
        max_length=EXCERPT_LENGTH, blank=True, default="", help_text="The beginning of the answer, in one line."
    )
    cost_usd = models.DecimalField(
        max_digits=14, decimal_places=8, null=True, help_text="By the prices at its end; null where one is unknown."
    )

    objects: ClassVar[RunQuerySet] = RunQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["account", "-id"], name="run_newest_of_account"),
            # One a filter of the history: a million runs are never walked through to find fifty.
            models.Index(fields=["account", "group_id", "-id"], name="run_newest_of_group"),
            models.Index(fields=["account", "subject_id", "-id"], name="run_newest_of_subject"),
            models.Index(fields=["account", "model", "-id"], name="run_newest_of_model"),
            models.Index(
                fields=["account", "status", "-id"],
                condition=Q(status__in=["queued", "running", "failed", "cancelled"]),
                name="run_newest_not_succeeded",
            ),
            models.Index(fields=["account", "-id"], condition=~Q(kind="batch"), name="run_newest_outside_batches"),
            models.Index(fields=["account", "kind", "id"], condition=Q(status="queued"), name="run_oldest_queued"),
            models.Index(
                fields=["status", "lease_expires_at", "resend_at"],
                condition=Q(status__in=["queued", "running"]),
                name="run_open",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "succeeded", "failed", "cancelled"]),
                name="run_status_known",
            ),
            models.CheckConstraint(condition=Q(provider__in=["self-hosted", "anthropic"]), name="run_provider_known"),
            models.CheckConstraint(condition=Q(kind__in=["single", "comparison", "batch"]), name="run_kind_known"),
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running"], finished_at=None)
                | Q(status__in=["succeeded", "failed", "cancelled"], finished_at__isnull=False),
                name="run_finished_when_terminal",
            ),
            models.CheckConstraint(
                condition=Q(status="failed") & ~Q(error_code="") | ~Q(status="failed") & Q(error_code=""),
                name="run_error_when_failed",
            ),
            models.CheckConstraint(
                condition=Q(status="running", lease_expires_at__isnull=False, started_at__isnull=False)
                | ~Q(status="running") & Q(lease_expires_at=None),
                name="run_leased_while_running",
            ),
            models.CheckConstraint(
                condition=(Q(input_tokens=None) | Q(input_tokens__gte=0))
                & (Q(output_tokens=None) | Q(output_tokens__gte=0)),
                name="run_counts_not_negative",
            ),
        ]

    @property
    def output(self) -> str:
        """The text of the answer, or as much of it as arrived."""
        return str(json.loads(self.output_json))

    @property
    def response(self) -> dict[str, Any] | None:
        """The final message as the Messages API returns it; what had arrived of it if the run did not succeed."""
        value: dict[str, Any] | None = json.loads(self.response_json)
        return value

    @property
    def structured(self) -> dict[str, Any] | None:
        """{valid, errors, place} of a whole answer to a request that asks for a schema."""
        value: dict[str, Any] | None = json.loads(self.structured_json)
        return value

    @property
    def headers(self) -> dict[str, str]:
        """The headers that say what is asked for, as they are sent. The key and what names the account are not here."""
        return {"anthropic-version": self.api_version, "Idempotency-Key": str(self.pk)}

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL

    @property
    def queue_ms(self) -> int | None:
        """Milliseconds from the creation of the run until a worker took it, for the last time if it was sent again."""
        if self.started_at is None:
            return None
        return max(0, round((self.started_at - self.queued_at).total_seconds() * 1000))

    @property
    def ttft_ms(self) -> int | None:
        """Milliseconds from the creation of the run to its first token: what the person waited."""
        if self.first_token_at is None:
            return None
        return max(0, round((self.first_token_at - self.queued_at).total_seconds() * 1000))

    @property
    def tokens_per_s(self) -> float | None:
        """Speed after the first token; None for answers too short to tell."""
        if self.first_token_at is None or self.finished_at is None or (self.output_tokens or 0) < 2:
            return None
        seconds = (self.finished_at - self.first_token_at).total_seconds()
        return round(((self.output_tokens or 0) - 1) / seconds, 1) if seconds > 0 else None


class ProviderKeyQuerySet(models.QuerySet["ProviderKey"]):
    def of(self, account: User) -> ProviderKeyQuerySet:
        return self.filter(account=account)


class ProviderKey(models.Model):
    """A person's own key for a provider, sealed (see sealing.py). `ending`: all of it that is ever shown again.

    A new key is a new row, so that its id names it in caches that the old one must not reach.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_keys")
    provider = models.CharField(max_length=16, choices=Provider.choices)
    sealed = models.TextField()
    ending = models.CharField(max_length=4)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[ProviderKeyQuerySet] = ProviderKeyQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "provider"], name="provider_key_once"),
            models.CheckConstraint(condition=Q(provider="anthropic"), name="provider_key_of_anthropic"),
        ]
