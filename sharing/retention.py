"""The access log is kept for SHARING_LOG_KEPT_DAYS and no day longer: it says who read what, from where."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.utils import timezone

from sharing.models import AccessLogEntry, Notification

BATCH = 10_000
NOTICES_KEPT = dt.timedelta(days=90)


def prune() -> int:
    """Remove what is past its time, batch by batch, and say how many entries of the log that was."""
    before = timezone.now() - dt.timedelta(days=settings.SHARING_LOG_KEPT_DAYS)
    removed = 0
    while True:
        old = AccessLogEntry.objects.filter(at__lt=before).order_by("at").values("pk")[:BATCH]
        count, _ = AccessLogEntry.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
        removed += count
        if count < BATCH:
            break
    Notification.objects.filter(created_at__lt=timezone.now() - NOTICES_KEPT).delete()
    return removed
