from __future__ import annotations

import datetime as dt
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Count, F, Func, Max, Q
from django.utils import timezone
from django.utils.module_loading import import_string

from accounts.models import User
from core.ids import new_id

MAX_NAME_LENGTH = 200
KEPT_IN_TRASH = dt.timedelta(days=30)


class PromptQuerySet(models.QuerySet["Prompt"]):
    def visible_to(self, user: User) -> PromptQuerySet:
        """The prompts this person owns. What others share is read through `sharing`.

        One that an import is still filling is nobody's yet, and one that is being erased is nobody's any more.
        """
        return self.filter(owner=user, importing=False, erasing=False)

    def readable_by(self, user: User) -> PromptQuerySet:
        """Those this person owns, and those that others share with them by name."""
        shared = import_string(settings.SHARED_PROMPTS)(user)
        return self.filter(Q(owner=user) | Q(pk__in=shared), importing=False, erasing=False)

    def active(self) -> PromptQuerySet:
        """Neither archived nor in the trash: what lists show unless asked otherwise."""
        return self.filter(archived_at=None, trashed_at=None)

    def archived(self) -> PromptQuerySet:
        return self.filter(archived_at__isnull=False, trashed_at=None)

    def trashed(self) -> PromptQuerySet:
        return self.filter(trashed_at__isnull=False)

    def expired(self, now: dt.datetime) -> PromptQuerySet:
        """In the trash for so long that they are to be erased."""
        return self.filter(trashed_at__lte=now - KEPT_IN_TRASH)

    def folder_counts(self) -> dict[str, int]:
        """How many there are by folder."""
        return dict(self.order_by().values_list("folder").annotate(Count("pk")))

    def tag_counts(self) -> list[tuple[str, int]]:
        """Tags by name, each with how many have it."""
        tag = Func(F("tags"), function="unnest", output_field=models.CharField())
        rows = self.annotate(tag=tag).values("tag").annotate(count=Count("pk")).order_by("tag")
        return [(row["tag"], row["count"]) for row in rows]

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

    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Out of the usual lists, but as usable as ever."
    )
    trashed_at = models.DateTimeField(null=True, blank=True, help_text="Gone for everybody, until restored or erased.")

    importing = models.BooleanField(
        default=False, db_default=False, help_text="Still being filled: in the trash until then, and not shown there."
    )

    erasing = models.BooleanField(
        default=False, db_default=False, help_text="Gone from the trash, too: its rows are being deleted."
    )

    acl_epoch = models.BigIntegerField(
        default=0, db_default=0, help_text="Grows with each change of who may read it, in the same transaction."
    )

    objects: ClassVar[PromptQuerySet] = PromptQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at", "-id"], name="prompt_recent_first")]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="prompt_has_a_name"),
            models.CheckConstraint(
                condition=Q(erasing=False) | Q(trashed_at__isnull=False), name="prompt_erased_from_the_trash"
            ),
        ]
