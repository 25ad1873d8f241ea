from __future__ import annotations

import datetime as dt
import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from core.ids import new_id
from playground.models import Prompt, Version
from sharing.models.grant import Grant, Role


class Audience(models.TextChoices):
    PUBLIC = "public", "Anybody who has the link"
    SIGNED_IN = "signed_in", "Who has the link and is signed in"


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def live(self, now: dt.datetime) -> ShareLinkQuerySet:
        """Those that show something at this instant: also of what their makers may still share.

        One whose views are used up goes on showing it to who came before.
        """
        sharers = Grant.objects.live(now).filter(
            prompt=OuterRef("prompt"), account=OuterRef("created_by"), may_share=True
        )
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=now),
            Q(created_by=F("prompt__owner")) | Exists(sharers),
            revoked_at=None,
            created_by__is_active=True,
            prompt__owner__is_active=True,
            prompt__trashed_at=None,
            prompt__importing=False,
        )

    def on(self, prompt_id: uuid.UUID) -> ShareLinkQuerySet:
        """Those on a prompt that were not taken back, expired ones included."""
        return self.filter(prompt_id=prompt_id, revoked_at=None)


class ShareLink(models.Model):
    """An address that opens one version, or whatever a branch or label points at. Only the token's SHA-256 is kept.

    It never becomes a grant: whoever comes by it stays a visitor, and revoking it cuts all of them and nobody else.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="links")
    token_hash = models.BinaryField(max_length=32, unique=True)
    token_prefix = models.CharField(max_length=12, help_text="To tell links apart in a list; opens nothing.")
    audience = models.CharField(max_length=16, choices=Audience.choices)
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.VIEWER)
    # The foreign key on (prompt, target) is in the migration: a target is always of the same prompt.
    target_version = models.ForeignKey(
        Version, on_delete=models.CASCADE, null=True, blank=True, related_name="+", db_constraint=False
    )
    follows_branch = models.CharField(max_length=100, blank=True)
    follows_label = models.CharField(max_length=100, blank=True)
    shows_history = models.BooleanField(default=False, help_text="Also the versions behind the one it opens.")
    password = models.CharField(max_length=128, blank=True, help_text="A slow hash; empty for none.")
    password_tries = models.PositiveIntegerField(default=0, help_text="Wrong ones since `password_tries_since`.")
    password_tries_since = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="An instant, never a day.")
    max_views = models.PositiveIntegerField(null=True, blank=True)
    views = models.PositiveIntegerField(default=0, help_text="How often it was opened; reloading does not count.")
    note = models.CharField(max_length=200, blank=True, help_text="For who made it.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ShareLinkQuerySet] = ShareLinkQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["created_by", "-id"], condition=Q(revoked_at=None), name="link_of_account"),
        ]
        constraints = [
            models.CheckConstraint(condition=Exact(Length("token_hash"), 32), name="link_token_is_sha256"),
            models.CheckConstraint(condition=Q(audience__in=["public", "signed_in"]), name="link_audience_known"),
            models.CheckConstraint(condition=Q(role="viewer"), name="link_shows_only"),
            models.CheckConstraint(
                condition=Q(target_version__isnull=False, follows_branch="", follows_label="")
                | Q(target_version=None, follows_label="") & ~Q(follows_branch="")
                | Q(target_version=None, follows_branch="") & ~Q(follows_label=""),
                name="link_one_target",
            ),
            models.CheckConstraint(
                condition=Q(max_views=None) | Q(max_views__gte=1, views__lte=F("max_views")), name="link_views_in_limit"
            ),
        ]

    @property
    def is_pinned(self) -> bool:
        """Whether it shows the same version for ever."""
        return self.target_version_id is not None

    @property
    def follows(self) -> str:
        """The name of the branch or label it follows; "" for a pinned one."""
        return self.follows_branch or self.follows_label

    @property
    def views_left(self) -> int | None:
        return None if self.max_views is None else self.max_views - self.views
