"""Objects of texts that were saved with their bytes in the row only: put into the store a little later, by the worker.

A save waits for the disk of PostgreSQL and not for the store as well: to whoever waits, the store was the longest part
of saving a short text. What is due is a row of its own, made and removed with what it stands for.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from core.errors import StorageUnavailable
from playground.bodies import chains, objects
from playground.models import Body, UnstoredBody

log = logging.getLogger("playground.bodies")

#: At most 8 MiB at once: the bytes of a row are 16 KiB at most.
A_TURN = 512


def store_objects() -> int:
    """Put what is due into the store, oldest first, and say how many; fewer than are due if it does not answer.

    May be called, stopped and called again at any time, also twice at once: putting an object again changes nothing.
    """
    done = 0
    while due := list(Body.objects.filter(unstored__isnull=False, inline__isnull=False).order_by("pk")[:A_TURN]):
        stored = [body for body, is_stored in zip(due, chains.in_parallel(_put, due), strict=True) if is_stored]
        _forget(stored)
        done += len(stored)
        if len(stored) < len(due):
            log.warning("objects not stored", extra={"count": len(due) - len(stored)})
            break
    return done


def is_due(body: Body) -> bool:
    return UnstoredBody.objects.filter(pk=body.pk).exists()


def _put(body: Body) -> bool:
    try:
        objects.put(body.object_key, bytes(body.inline or b""))
    except StorageUnavailable:
        return False
    return True


def _forget(stored: Sequence[Body]) -> None:
    """They are no longer due. One that was erased while it was put must not stay behind."""
    keys = {body.pk: body.object_key for body in stored}
    UnstoredBody.objects.filter(pk__in=keys).delete()
    for pk in keys.keys() - set(Body.objects.filter(pk__in=keys).values_list("pk", flat=True)):
        objects.delete(keys[pk])
