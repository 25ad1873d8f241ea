from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.ids import new_id
from playground.models.history import insert_only
from playground.models.prompt import Prompt
from playground.models.version import Version

DEFAULT_BRANCH = "main"


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
        triggers = [insert_only("branch_move_append_only", what="a branch move", person="actor_id")]
