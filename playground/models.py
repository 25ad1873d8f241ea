from __future__ import annotations

import json
from typing import Any, ClassVar

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Max, Q
from django.utils import timezone

from accounts.models import User
from core.ids import new_id
from inference_client.models import Run

MAX_NAME_LENGTH = 200
MAX_MESSAGE_LENGTH = 5000
DEFAULT_BRANCH = "main"

#: Rows that are history may vanish only while their whole prompt is erased: the erasing transaction names the prompt.
_ONLY_ERASURE_DELETES = """
    IF TG_OP = 'DELETE' THEN
        IF current_setting('playground.erase_prompt', true) = OLD.prompt_id::text THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION '% is history: rows are never deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END IF;
"""


class PromptQuerySet(models.QuerySet["Prompt"]):
    def visible_to(self, user: User) -> PromptQuerySet:
        """The prompts this person owns. What others share is read through `sharing`."""
        return self.filter(owner=user)

    def matching(self, words: str) -> PromptQuerySet:
        """Name, description or tag contains `words`, without regard to case."""
        if not words:
            return self
        return self.filter(Q(name__icontains=words) | Q(description__icontains=words) | Q(tags__contains=[words]))

    def with_latest_number(self) -> PromptQuerySet:
        """Adds `latest_number`: the highest version number, null for a prompt without versions."""
        return self.annotate(latest_number=Max("versions__number"))


class Prompt(models.Model):
    """A named prompt of one owner: a tree of versions with branches pointing into it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="prompts")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.CharField(max_length=2000, blank=True)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True, size=50)
    folder = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[PromptQuerySet] = PromptQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at", "-id"], name="prompt_recent_first")]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="prompt_has_a_name"),
        ]


class Body(models.Model):
    """A text of a prompt by its SHA-256: where its bytes are and in which form. Never shared between prompts.

    Every representation is an object in the store. One of up to 16 KiB is also kept in `inline`, a read copy that
    can be dropped and made again.
    """

    class Codec(models.TextChoices):
        SNAPSHOT = "zstd", "A whole zstd frame"
        DELTA = "zstd-prefix", "A zstd frame against the bytes of `base`"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="bodies")
    sha256 = models.BinaryField(max_length=32)
    byte_length = models.BigIntegerField()
    codec = models.CharField(max_length=16, choices=Codec.choices)
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="deltas")
    depth = models.PositiveSmallIntegerField(default=0, help_text="Hops from a whole copy; 0 for one.")
    is_base = models.BooleanField(default=True, help_text="Whether later texts may be stored against this one.")
    stored_length = models.BigIntegerField()
    object_key = models.CharField(max_length=200, unique=True)
    inline = models.BinaryField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "sha256"], name="body_once_in_its_prompt"),
            models.CheckConstraint(condition=Q(byte_length__gte=0, stored_length__gte=0), name="body_lengths"),
            models.CheckConstraint(
                condition=Q(codec="zstd", base=None, depth=0, is_base=True)
                | (Q(codec="zstd-prefix", depth__gte=1) & ~Q(base=None)),
                name="body_delta_has_a_base",
            ),
        ]


class VersionQuerySet(models.QuerySet["Version"]):
    def recent_first(self) -> VersionQuerySet:
        return self.order_by("-number")


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
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    message = models.CharField(max_length=MAX_MESSAGE_LENGTH, blank=True)
    model = models.CharField(max_length=200)
    spec = models.TextField()
    digest = models.BinaryField(max_length=32)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[VersionQuerySet] = VersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "number"], name="version_number_once"),
            models.UniqueConstraint(fields=["prompt", "id"], name="version_of_its_prompt"),
            models.CheckConstraint(condition=Q(number__gte=1), name="version_numbers_start_at_1"),
            models.CheckConstraint(condition=~Q(parent=F("id")), name="version_is_not_its_parent"),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="version_insert_only",
                when=pgtrigger.Before,
                operation=pgtrigger.Update | pgtrigger.Delete,
                func=_ONLY_ERASURE_DELETES
                + """
                IF NEW.author_id IS NULL THEN
                    OLD.author_id := NULL;
                END IF;
                IF NEW IS DISTINCT FROM OLD THEN
                    RAISE EXCEPTION 'a version never changes' USING ERRCODE = 'restrict_violation';
                END IF;
                RETURN NEW;
                """,
            ),
        ]

    @property
    def frozen(self) -> dict[str, Any]:
        """The spec as plain JSON values, texts as `{"body": sha256}`."""
        spec: dict[str, Any] = json.loads(self.spec)
        return spec

    @property
    def digest_hex(self) -> str:
        return bytes(self.digest).hex()


class Branch(models.Model):
    """A name for the newest version of one line of work. Moved by compare-and-swap only; every move is a row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="branches")
    name = models.CharField(max_length=100)
    head = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="heads", db_constraint=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "name"], name="branch_name_once"),
            # A number would be taken for a version where either may be given.
            models.CheckConstraint(
                condition=~Q(name__regex=r"^[0-9]+$") & ~Q(name=""), name="branch_name_not_a_number"
            ),
        ]


class BranchMove(models.Model):
    """Who moved a branch from where to where: append-only, so that undo and redo have something to walk."""

    id = models.BigAutoField(primary_key=True)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="moves")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    from_version = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    to_version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        triggers = [
            pgtrigger.Trigger(
                name="branch_move_append_only",
                when=pgtrigger.Before,
                operation=pgtrigger.Update | pgtrigger.Delete,
                func=_ONLY_ERASURE_DELETES
                + """
                IF NEW.actor_id IS NULL THEN
                    OLD.actor_id := NULL;
                END IF;
                IF NEW IS DISTINCT FROM OLD THEN
                    RAISE EXCEPTION 'a branch move never changes' USING ERRCODE = 'restrict_violation';
                END IF;
                RETURN NEW;
                """,
            ),
        ]


class VersionRunQuerySet(models.QuerySet["VersionRun"]):
    def visible_to(self, user: User) -> VersionRunQuerySet:
        return self.filter(run__account=user)


class VersionRun(models.Model):
    """Which version a run sent, and the variable values it was filled with (JSON text, so that any text fits)."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="+")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="runs")
    variables = models.TextField(default="{}")

    objects: ClassVar[VersionRunQuerySet] = VersionRunQuerySet.as_manager()  # type: ignore[assignment]
