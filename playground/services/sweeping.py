"""What collects the remains of uploads and saves that did not end. Each is one turn of a few, and harmless to miss.

Rows are the truth. A row goes in a transaction that locked it and looked again, its object after that committed; an
object that no row names goes when it is older than any save could be.
"""

from __future__ import annotations

import datetime as dt
import logging
import uuid
from collections.abc import Callable

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core import effects
from playground.bodies import objects, parts
from playground.models import Body, FileImport, Upload, Version, object_key
from playground.services import staging
from playground.services.uploads import PACKING, UNREFERENCED_FOR

log = logging.getLogger("playground.sweeps")

#: A PUT that began at the last second, and its `complete`, are still taken.
GRACE = dt.timedelta(hours=1)
GIVE_UP_AFTER = dt.timedelta(days=1)
RESEND_AFTER = dt.timedelta(minutes=3)
#: Rows of uploads outlive their texts, so that a replayed save still finds them.
ROWS_FOR = UNREFERENCED_FOR + dt.timedelta(days=1)
#: A save puts its objects seconds before its rows.
UNNAMED_FOR = dt.timedelta(days=1)
ROWS_A_TURN = 200
#: An import that is broken off may leave thousands; removing one takes milliseconds.
TEXTS_A_TURN = 2000
OBJECTS_A_TURN = 5000
PAGE = 1000


def expire_uploads(*, now: dt.datetime | None = None) -> int:
    """End uploads whose bytes never came or cannot be packed, and forget old ones. Answers how many ended."""
    now = now or timezone.now()
    late = Q(status=Upload.Status.PENDING, expires_at__lt=now - GRACE)
    hopeless = Q(status=Upload.Status.PROCESSING, created_at__lt=now - GIVE_UP_AFTER)
    ending = Upload.objects.filter(late | hopeless).values_list("pk", flat=True)
    ended = sum(_expire(pk, now) for pk in ending[:ROWS_A_TURN])
    closed = Upload.objects.in_no_draft().filter(completed_at__lt=now - ROWS_FOR).values_list("pk", flat=True)
    Upload.objects.filter(pk__in=list(closed[:ROWS_A_TURN])).delete()
    return ended


def _expire(pk: uuid.UUID, now: dt.datetime) -> bool:
    with transaction.atomic():
        upload = Upload.objects.open().select_for_update(skip_locked=True).filter(pk=pk).first()
        if upload is None:
            return False
        upload.error_code = "expired" if upload.status == Upload.Status.PENDING else "gave_up"
        upload.status, upload.completed_at = Upload.Status.FAILED, now
        upload.save(update_fields=["status", "error_code", "completed_at"])
        staging.drop(upload)
        return True


def resend_processing(*, now: dt.datetime | None = None) -> int:
    """Ask again for the packing of uploads whose task was lost or gave up. Answers how many."""
    now = now or timezone.now()
    stuck = Upload.objects.filter(status=Upload.Status.PROCESSING, processing_at__lt=now - RESEND_AFTER)
    waiting = list(stuck.values_list("pk", flat=True)[:ROWS_A_TURN])
    return sum(staging.take_again(stuck, pk, PACKING, now=now) for pk in waiting)


def sweep_bodies(*, now: dt.datetime | None = None) -> int:
    """Remove texts that never became part of a version, or were broken off with their import. Answers how many.

    Newest first among those of one moment, since a text cannot go before the deltas that were made of it.
    """
    before = (now or timezone.now()) - UNREFERENCED_FOR
    old = Body.objects.filter(unreferenced_since__lt=before).order_by("unreferenced_since", "-pk")
    return sum(_sweep_body(pk, before) for pk in list(old.values_list("pk", flat=True)[:TEXTS_A_TURN]))


def _sweep_body(pk: uuid.UUID, before: dt.datetime) -> bool:
    """Remove one, if under its lock it is still unnamed. A save that holds it is not waited for, and wins."""
    with transaction.atomic():
        locked = Body.objects.select_for_update(skip_locked=True).filter(pk=pk, unreferenced_since__lt=before)
        body = locked.first()
        if body is None or body.deltas.exists() or _is_named_after_all(body) or _is_in_a_draft(body):
            return False
        key = body.object_key
        body.delete()
        effects.after_commit(objects.delete, key)
        return True


def _is_named_after_all(body: Body) -> bool:
    """Whether a version names the text though its row says none does: a bug elsewhere must not cost anybody a text."""
    named = Version.objects.filter(prompt_id=body.prompt_id, spec__contains=bytes(body.sha256).hex()).exists()
    if named:
        log.error("body was marked unreferenced but is named", extra={"body": str(body.pk)})
        Body.objects.filter(pk=body.pk).update(unreferenced_since=None)
    return named


def _is_in_a_draft(body: Body) -> bool:
    """Whether somebody's unsaved work names an upload of this text: then it waits for another term."""
    uploads = Upload.objects.filter(prompt_id=body.prompt_id, body_sha256=body.sha256)
    drafted = uploads.in_a_draft().exists()
    if drafted:
        Body.objects.filter(pk=body.pk).update(unreferenced_since=timezone.now())
    return drafted


def sweep_staging(*, now: dt.datetime | None = None) -> int:
    """Remove staged bytes that no open upload awaits: replayed PUTs, deletions that failed. Answers how many."""
    return _sweep_objects("staging/", _unclaimed, now or timezone.now())


def sweep_parts(*, now: dt.datetime | None = None) -> int:
    """Remove parts that no open upload will join: replayed PUTs, uploads sent in one piece after all. Answers how many
    uploads had some.
    """
    before = (now or timezone.now()) - UNNAMED_FOR
    old = {each.multipart_id: each.key for each in parts.unfinished("staging/") if each.begun_at < before}
    awaited = [
        rows.filter(multipart_id__in=old).values_list("multipart_id", flat=True)
        for rows in (Upload.objects.open(), FileImport.objects.open())
    ]
    remains = set(old).difference(*awaited)
    for multipart_id in remains:
        parts.abort(old[multipart_id], multipart_id)
    return len(remains)


def sweep_objects(*, now: dt.datetime | None = None) -> int:
    """Remove stored texts that no row names: of saves that died before they committed, of twins, of what is repacked.

    A read that is about to fetch what was repacked just now asks for the row again. Answers how many.
    """
    return _sweep_objects("bodies/", _unnamed, now or timezone.now())


def _unclaimed(keys: list[str]) -> set[str]:
    claimed = [
        rows.filter(staging_key__in=keys).values_list("staging_key", flat=True)
        for rows in (Upload.objects.open(), FileImport.objects.open())
    ]
    return set(keys).difference(*claimed)


def _unnamed(keys: list[str]) -> set[str]:
    ids = [identity for key in keys if (identity := _body_id(key))]
    named = Body.objects.filter(pk__in=ids).values_list("prompt_id", "pk", "packing")
    return set(keys) - {object_key(*row) for row in named}


def _body_id(key: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(key.rsplit("/", 1)[-1].partition(".")[0])
    except ValueError:
        return None


def _sweep_objects(prefix: str, remains: Callable[[list[str]], set[str]], now: dt.datetime) -> int:
    """One turn over a part of the objects; where it ended is kept, so that turns go round and none takes long."""
    place, removed = f"sweep:{prefix}", 0
    after = cache.get(place, "")
    for _ in range(OBJECTS_A_TURN // PAGE):
        listed = objects.page(prefix, after=after, limit=PAGE)
        for key in remains([each.key for each in listed if each.modified_at < now - UNNAMED_FOR]):
            objects.delete(key)
            removed += 1
        after = listed[-1].key if len(listed) == PAGE else ""
        if not after:
            break
    cache.set(place, after, timeout=None)
    return removed
