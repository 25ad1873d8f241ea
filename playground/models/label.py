from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.ids import new_id
from playground.models.history import insert_only
from playground.models.prompt import Prompt
from playground.models.version import Version


class Label(models.Model):
    """A movable pointer that programs follow (`production`). Removing one keeps its history: `version` becomes null."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=100)
    version = models.ForeignKey(
        Version, on_delete=models.PROTECT, null=True, related_name="labels", db_constraint=False
    )
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt", "name"], name="label_name_once"),
            models.CheckConstraint(
                condition=~Q(name__regex=r"^[0-9]+$") & ~Q(name__in=["", "latest"]), name="label_name_not_a_number"
            ),
        ]


class LabelMove(models.Model):
    """Who moved a label from where to where, and when: append-only."""

    id = models.BigAutoField(primary_key=True)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="moves")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    from_version = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    to_version = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        triggers = [insert_only("label_move_append_only", what="a label move", person="actor_id")]
