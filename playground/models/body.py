from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.ids import new_id
from playground.models.prompt import Prompt

#: A value of `packing`.

AS_SAVED = 0


class Body(models.Model):
    """A text of a prompt by its SHA-256: where its bytes are and in which form. Never shared between prompts.

    The form of a text may be changed once, by a repacking; its bytes never are.

    Every representation is an object in the store. One of up to 16 KiB is also kept in `inline`, a read copy that
    can be dropped and made again once its object is there (`UnstoredBody`).
    """

    class Codec(models.IntegerChoices):
        SNAPSHOT = 1, "A whole zstd frame"
        DELTA = 2, "A zstd frame against the bytes of `base`"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # No index of its own: the unique one on (prompt, sha256) serves it. A row of a small delta is most of its cost.
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="bodies", db_index=False)
    sha256 = models.BinaryField(max_length=32)
    byte_length = models.PositiveIntegerField()
    codec = models.PositiveSmallIntegerField(choices=Codec.choices)
    base = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="deltas", db_index=False
    )
    is_base = models.BooleanField(default=True, help_text="Whether later texts may be stored against this one.")
    stored_length = models.PositiveIntegerField()
    inline = models.BinaryField(null=True, blank=True)
    packing = models.PositiveIntegerField(
        default=AS_SAVED, help_text="Part of the object's key: 0 as saved, a random number once it was repacked."
    )
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
            ),
            models.Index(fields=["base"], condition=Q(base__isnull=False), name="body_deltas_of_a_base"),
            models.Index(
                fields=["created_at"],
                condition=Q(packing=AS_SAVED, inline=None, unreferenced_since=None),
                name="body_to_repack",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["prompt", "sha256"], name="body_once_in_its_prompt"),
            models.CheckConstraint(
                condition=Q(codec=1, base=None, is_base=True) | (Q(codec=2) & ~Q(base=None)),
                name="body_delta_has_a_base",
            ),
        ]

    @property
    def object_key(self) -> str:
        """Where its bytes are in the store."""
        return object_key(self.prompt_id, self.pk, self.packing)


def object_key(prompt_id: uuid.UUID, body_id: uuid.UUID, packing: int = AS_SAVED) -> str:
    """The key of a representation: unique, since ids and packings are, and telling nothing of the text."""
    key = f"bodies/{prompt_id}/{body_id}"
    return key if packing == AS_SAVED else f"{key}.{packing}"


class UnstoredBody(models.Model):
    """A body whose bytes are in its row only: its object is still to be put into the store, some seconds later.

    Inserted with the body and removed when the object is there, so that neither is ever forgotten.
    """

    body = models.OneToOneField(Body, on_delete=models.CASCADE, primary_key=True, related_name="unstored")
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
