from __future__ import annotations

from django.db import models
from django.utils import timezone


class ErasedObjects(models.Model):
    """A prompt whose rows are gone and whose objects in the store may not be: what the sweep still has to delete.

    Written in the transaction that erases, so a crash afterwards forgets no object. Removed when all are gone and
    nothing that was on its way can arrive any more.
    """

    prompt_id = models.UUIDField(primary_key=True)
    erased_at = models.DateTimeField(default=timezone.now)
