from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from django.db import models

#: The status of whatever is staged while its bytes are awaited, in each of the models below.
PENDING = "pending"


class StagedFile(models.Model):
    """Something on its way from a browser to the store, past this application: bytes go to `staging_key` directly.

    `size` and `sha256` are what the sender declared. `part_hashes`, if declared: the SHA-256 of each of its parts
    (`playground.bodies.parts`), one behind the other.
    """

    size = models.BigIntegerField()
    sha256 = models.BinaryField(max_length=32)
    staging_key = models.CharField(max_length=200, unique=True)
    part_hashes = models.BinaryField(max_length=1024, null=True, blank=True)
    multipart_id = models.CharField(
        max_length=1024, blank=True, help_text="The store's name for what is sent to the staging key in parts."
    )
    expires_at = models.DateTimeField(help_text="Until when addresses for its bytes are given.")
    status: Any

    objects: ClassVar[models.Manager[Any]]

    class Meta:
        abstract = True

    def takes_bytes(self, now: dt.datetime) -> bool:
        return bool(self.status == PENDING and self.expires_at > now)
