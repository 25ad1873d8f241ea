from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from playground.models import Prompt
from sharing.models.link import ShareLink


class AccessLogEntry(models.Model):
    """Who or which link asked for what of a prompt, and whether it was given. Reads of the owner are not in it.

    The same reader and the same thing within a minute are one entry. Kept for SHARING_LOG_KEPT_DAYS.
    """

    id = models.BigAutoField(primary_key=True)
    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(default=timezone.now, db_index=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    link = models.ForeignKey(ShareLink, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    visitor = models.CharField(max_length=32, blank=True, help_text="One browser that came by a link; names nobody.")
    what = models.CharField(max_length=64, help_text="The name of a route, or of a change of who may read it.")
    version_number = models.PositiveIntegerField(null=True, blank=True)
    address = models.GenericIPAddressField(null=True, blank=True)
    allowed = models.BooleanField()
    reason = models.CharField(max_length=32, blank=True, help_text="Why it was refused.")

    class Meta:
        indexes = [models.Index(fields=["prompt", "-id"], name="access_log_newest")]
