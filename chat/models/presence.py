from __future__ import annotations

from django.conf import settings
from django.db import models


class LastSeen(models.Model):
    """When a person was last here, to five minutes. A table of its own: the mailbox is locked by every send."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    at = models.DateTimeField()
