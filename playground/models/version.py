from __future__ import annotations

import json
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from inference_client.models import HEAVY_FIELDS, Run
from playground.models.comparison import Comparison
from playground.models.history import insert_only
from playground.models.prompt import Prompt

MAX_MESSAGE_LENGTH = 5000


class VersionQuerySet(models.QuerySet["Version"]):
    def recent_first(self) -> VersionQuerySet:
        return self.order_by("-number")

    def listed(self) -> models.QuerySet[Version, Any]:
        """What a list shows of each, as plain values: a hundred rows of models would cost five times as much."""
        return self.values(
            "id",
            "number",
            "message",
            "model",
            "digest",
            "created_at",
            "parent__number",
            "author__name",
            "author__email",
        )

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


# PostgreSQL's JSON knows no NUL: an answer that may hold one is matched escape by escape, at ten times the cost.
_CODE_POINTS = r"""
    CASE
        WHEN octet_length(%(expressions)s) > 262144 THEN NULL
        WHEN position('\u0000' IN %(expressions)s) = 0 THEN char_length(%(expressions)s::json #>> '{}')
        ELSE char_length(
            regexp_replace(%(expressions)s, '\\ud[89ab]..\\ud[c-f]..|\\u....|\\.', 'x', 'g')
        ) - 2
    END
"""
_DIGEST = "encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')"


class VersionRunQuerySet(models.QuerySet["VersionRun"]):
    def visible_to(self, user: User) -> VersionRunQuerySet:
        """This person's runs, of prompts that they may still see and that are not in the trash."""
        readable = Prompt.objects.readable_by(user).filter(trashed_at=None)
        return self.filter(run__account=user, version__prompt__in=readable)

    def in_column(self, comparison: Comparison, column: int | None) -> VersionRunQuerySet:
        """The runs of a comparison; of one of its columns, unless that is None."""
        rows = self.filter(comparison=comparison)
        return rows if column is None else rows.filter(column=column)

    def newest_of(self, comparison: Comparison) -> VersionRunQuerySet:
        """The newest run at each place of a comparison, by column and repetition. Without requests and answers."""
        newest = self.filter(comparison=comparison).select_related("run")
        newest = newest.defer("variables", "turns", "added", *(f"run__{name}" for name in HEAVY_FIELDS))
        return newest.order_by("column", "repetition", "-attempt").distinct("column", "repetition")

    def with_outputs(self) -> VersionRunQuerySet:
        """The answers read along, which `newest_of` leaves."""
        return self.defer(None).defer(
            "turns", "added", *(f"run__{name}" for name in HEAVY_FIELDS if name != "output_json")
        )

    def with_answers_measured(self) -> VersionRunQuerySet:
        """Adds `output_chars` (code points; null for an answer over 256 KiB) and `output_digest`, equal for equal ones.

        Counted where the answer is, so that a list of many need not carry them. It is JSON in ASCII there: an escape
        stands for one code point, or a pair of them for one.
        """
        return self.annotate(
            output_chars=Func(F("run__output_json"), template=_CODE_POINTS, output_field=models.IntegerField()),
            output_digest=Func(F("run__output_json"), template=_DIGEST, output_field=models.CharField()),
        )

    def of_conversation(self, of: VersionRun) -> VersionRunQuerySet:
        """The whole tree that a run is part of. Ids are UUIDv7: by id, each comes after the one it continues."""
        root = of.root_id or of.pk
        return self.filter(Q(pk=root) | Q(root=root))


class VersionRun(models.Model):
    """Which version a run sent, and the variable values it was filled with (JSON text, so that any text fits).

    A run may continue another: then `parent` is that run and `root` the first of the conversation (both null for the
    first). `turns` is JSON text: the messages after the version's own that this run sent. `added` is a short form of
    those that its parent had not sent, for drawing the tree without reading megabytes. Both are ASCII: a model may
    write NUL, which PostgreSQL's text cannot hold.

    `parameters`: what was sent in place of the version's own, as JSON text. A run of a comparison says its place there:
    a column and a repetition, both from 0, and the attempt, which grows when the same place is run again.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="runs")
    variables = models.TextField(default="{}")
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="replies")
    root = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    turns = models.TextField(default="[]")
    added = models.TextField(default="[]")
    parameters = models.TextField(default="{}", db_default="{}")
    # No index of its own: the unique one on the place in it serves it.
    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, null=True, blank=True, related_name="runs", db_index=False
    )
    column = models.PositiveSmallIntegerField(null=True, blank=True)
    repetition = models.PositiveSmallIntegerField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(null=True, blank=True)

    objects: ClassVar[VersionRunQuerySet] = VersionRunQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Whatever is redelivered or replayed, a place in a comparison is run once an attempt.
            models.UniqueConstraint(
                fields=["comparison", "column", "repetition", "attempt"],
                condition=Q(comparison__isnull=False),
                name="run_once_a_place",
            ),
            models.CheckConstraint(
                condition=Q(comparison=None, column=None, repetition=None, attempt=None)
                | Q(comparison__isnull=False, column__isnull=False, repetition__isnull=False, attempt__isnull=False),
                name="run_has_a_place_in_its_comparison",
            ),
        ]
