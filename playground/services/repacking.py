"""The turns in which texts that were saved some time ago are stored smaller: see `bodies.repacking`."""

from __future__ import annotations

import datetime as dt
import logging
import threading

from django.core.cache import cache
from django.utils import timezone

from core.errors import StorageUnavailable
from playground.bodies import repacking
from playground.models import AS_SAVED, Body

log = logging.getLogger("playground.repacking")

#: Who saves is likely to save again: the texts above are compared when there are some.
REST = dt.timedelta(minutes=10)
#: Encoding 1 MB takes up to half a second, so a turn takes about eight seconds of one core.
BYTES_A_TURN = 16 * 1024 * 1024
#: What a row counts for at least, so that many that cannot be read do not make a turn long.
LEAST_BYTES = 64 * 1024
#: A text that cannot be read is reported by each attempt; the scrub mends it, if anything can.
AGAIN_AFTER = dt.timedelta(days=1)
_ONE_TURN = threading.Lock()


def repack_bodies(*, now: dt.datetime | None = None) -> int:
    """Store the next few large texts anew, the oldest first. Answers how many; 0 also if the store does not answer.

    May be called, stopped and called again at any time, also twice at once.
    """
    if not _ONE_TURN.acquire(blocking=False):
        return 0  # the texts of two paths would be in memory at once
    try:
        return _turn((now or timezone.now()) - REST)
    finally:
        _ONE_TURN.release()


def _turn(before: dt.datetime) -> int:
    due = Body.objects.filter(packing=AS_SAVED, inline=None, unreferenced_since=None, created_at__lt=before)
    short = due.filter(byte_length__lte=repacking.LONGEST_BYTES).order_by("created_at", "pk")
    repacked, left = 0, BYTES_A_TURN
    for body in short.only("pk", "byte_length").iterator():
        if left <= 0:
            break
        if cache.get(_set_aside(body)):
            continue
        left -= max(LEAST_BYTES, body.byte_length)
        try:
            repacked += repacking.repack(body.pk)
        except StorageUnavailable as error:
            if error.code != "body_unreadable":
                break  # the store does not answer: the next turn tries again
            log.warning("body not repacked", extra={"body": str(body.pk), "reason": error.code})
            cache.set(_set_aside(body), value=1, timeout=int(AGAIN_AFTER.total_seconds()))
    return repacked


def _set_aside(body: Body) -> str:
    return f"repack:{body.pk}"
