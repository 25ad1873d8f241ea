from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.ids import new_id
from playground.models.prompt import Prompt


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
    unreferenced_since = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Set while no version names it, only uploads: then it is usable through those, and swept in time.",
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["unreferenced_since"],
                condition=Q(unreferenced_since__isnull=False),
                name="body_unreferenced",
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["prompt", "sha256"], name="body_once_in_its_prompt"),
            models.CheckConstraint(condition=Q(byte_length__gte=0, stored_length__gte=0), name="body_lengths"),
            models.CheckConstraint(
                condition=Q(codec="zstd", base=None, depth=0, is_base=True)
                | (Q(codec="zstd-prefix", depth__gte=1) & ~Q(base=None)),
                name="body_delta_has_a_base",
            ),
        ]
