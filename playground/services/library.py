"""Where a prompt is kept: in the lists, in the archive, in the trash, or nowhere any more."""

from __future__ import annotations

import datetime as dt
import json
import logging
import uuid

from celery import signature
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from core import effects
from core.errors import Conflict, InvalidInput, NotFound
from core.idempotency import IdempotencyKey
from inference_client.models import Run
from playground.bodies import objects, parts
from playground.freezing import references
from playground.models import KEPT_IN_TRASH, Body, ErasedObjects, Prompt, Version, VersionRun
from playground.services.uploads import UNREFERENCED_FOR

log = logging.getLogger("playground.library")

#: By name, because the task's module imports this one.
ERASE_OBJECTS = signature("playground.tasks.erase_objects", options={"priority": 6})
ERASE_ROWS = signature("playground.tasks.erase_rows", options={"priority": 6})
#: Everything a prompt has in the store is under its id in one of these folders.
OBJECT_FOLDERS = ("bodies", "read", "staging")
#: How long texts of a broken-off import stay: longer than any save is on its way.
LOOSE_FOR = dt.timedelta(minutes=15)
#: A save that was on its way when its prompt was erased may still store objects that no row will ever name.
LATE_OBJECTS = dt.timedelta(hours=1)
PROMPTS_A_TURN = 20
#: About half a second of work, and the most that a request deletes itself.
RUNS_A_PORTION = 2000
#: References among these are checked at the commit, so their order does not matter. Tables of other apps go with the
#: prompt's row: whatever refers to a version has to refer to its prompt, too, with a cascade.
_TABLES = ("labelmove", "branchmove", "label", "branch", "draft", "versionsearch", "version", "unstoredbody", "body")


def archive_prompt(*, prompt: Prompt) -> Prompt:
    """Out of the usual lists; everything else about it goes on."""
    prompt.archived_at = prompt.archived_at or timezone.now()
    prompt.save(update_fields=["archived_at"])
    return prompt


def trash_prompt(*, prompt: Prompt) -> Prompt:
    """Gone for everybody at once. Nothing is deleted before it is erased, by its owner or in 30 days."""
    prompt.trashed_at = prompt.trashed_at or timezone.now()
    # Decisions that are kept elsewhere are older than this, and show nothing that is made from now on.
    Prompt.objects.filter(pk=prompt.pk).update(trashed_at=prompt.trashed_at, acl_epoch=F("acl_epoch") + 1)
    prompt.refresh_from_db(fields=["acl_epoch"])
    import_string(settings.ACCESS_ENDED)(prompt.pk, prompt.acl_epoch)
    return prompt


def restore_prompt(*, prompt: Prompt) -> Prompt:
    """Back into the usual lists, from the trash or the archive. Raises NotFound for one that is being erased."""
    if not Prompt.objects.filter(pk=prompt.pk, erasing=False).update(archived_at=None, trashed_at=None):
        raise NotFound
    prompt.archived_at = prompt.trashed_at = None
    return prompt


def erase_prompt(*, prompt: Prompt, confirmation: str) -> None:
    """Remove a prompt in the trash with all that it ever had, for good. `confirmation` is its exact name.

    It is gone for everybody when this returns. Where it has many runs, a worker deletes its rows afterwards.
    Raises Conflict if it is not in the trash, InvalidInput for another name.
    """
    if confirmation != prompt.name:
        raise InvalidInput("This is not the name of the prompt.", code="not_confirmed", field="name")
    if not _hide(prompt_id=prompt.pk, trashed_before=timezone.now()):
        raise Conflict(
            "Only a prompt in the trash can be erased.",
            code="not_in_trash",
            kept="Nothing was deleted.",
            next_step="Put it into the trash first.",
        )
    if _runs_of(prompt.pk)[RUNS_A_PORTION : RUNS_A_PORTION + 1]:
        effects.enqueue(ERASE_ROWS, str(prompt.pk))
    else:
        erase(prompt_id=prompt.pk, trashed_before=timezone.now())


def erase_expired(*, now: dt.datetime) -> int:
    """Erase what has been in the trash for its time, and say how many. One that cannot be holds up no other."""
    erased = 0
    for pk in list(Prompt.objects.expired(now).values_list("pk", flat=True)):
        try:
            erased += _hide(prompt_id=pk, trashed_before=now - KEPT_IN_TRASH) and erase_rows(prompt_id=pk)
        except DatabaseError:
            log.exception("prompt not erased", extra={"prompt": str(pk)})
    return erased


def erasing() -> list[uuid.UUID]:
    """What a worker that died, or a message that was lost, has left to be erased."""
    return list(Prompt.objects.filter(erasing=True).order_by("pk").values_list("pk", flat=True)[:PROMPTS_A_TURN])


def erase_rows(*, prompt_id: uuid.UUID) -> bool:
    """Delete a prompt that is being erased: its runs a portion in each transaction, then all else in one.

    However often it is broken off, it goes on where it was. False if there is nothing left to do, or another worker is
    at it in this moment.
    """
    while (deleted := _delete_portion(prompt_id)) == RUNS_A_PORTION:
        pass
    return deleted is not None and erase(prompt_id=prompt_id, trashed_before=timezone.now())


@transaction.atomic
def _hide(*, prompt_id: uuid.UUID, trashed_before: dt.datetime) -> bool:
    """Take a prompt out of the trash, to be erased. False if it is not there."""
    found = Prompt.objects.filter(pk=prompt_id, trashed_at__lte=trashed_before)
    if not found.update(erasing=True):
        return False
    _forget_keys(prompt_id)
    return True


@transaction.atomic
def _delete_portion(prompt_id: uuid.UUID) -> int | None:
    """How many runs it deleted; None where the prompt is gone, or another worker holds it."""
    rows = Prompt.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=prompt_id, erasing=True)
    if rows.first() is None:
        return None
    portion = list(_runs_of(prompt_id)[:RUNS_A_PORTION])
    Run.objects.filter(pk__in=portion).delete()
    return len(portion)


def erase(*, prompt_id: uuid.UUID, trashed_before: dt.datetime) -> bool:
    """Delete every row of a prompt, and its objects after the commit. False if it is not in the trash any more."""
    with transaction.atomic():
        prompt = Prompt.objects.select_for_update().filter(pk=prompt_id, trashed_at__lte=trashed_before).first()
        if prompt is None:
            return False
        ErasedObjects.objects.create(prompt_id=prompt_id)
        _delete_runs(prompt_id)
        _forget_keys(prompt_id)
        with connection.cursor() as cursor:
            # What the triggers on history ask for: this transaction may delete rows of this one prompt.
            cursor.execute("SELECT set_config('playground.erase_prompt', %s, true)", [str(prompt_id)])
            for table in _TABLES:
                cursor.execute(f"DELETE FROM playground_{table} WHERE prompt_id = %s", [prompt_id])  # noqa: S608
        prompt.delete()
        effects.enqueue(ERASE_OBJECTS, str(prompt_id))
    return True


def release_unnamed(*, prompt_id: uuid.UUID, since: dt.datetime) -> None:
    """Leave to the next sweep what a broken-off import has stored since then: texts that no version names.

    Not at once: a save may be between storing its texts, which found one of these there, and naming them.
    """
    named = set[str]()
    for spec in Version.objects.filter(prompt_id=prompt_id).values_list("spec", flat=True).iterator(chunk_size=500):
        named.update(references(json.loads(spec)))
    recent = Body.objects.filter(prompt_id=prompt_id, unreferenced_since=None, created_at__gte=since)
    loose = [pk for pk, sha256 in recent.values_list("pk", "sha256") if bytes(sha256).hex() not in named]
    due = timezone.now() - UNREFERENCED_FOR + LOOSE_FOR
    Body.objects.filter(pk__in=loose, unreferenced_since=None).update(unreferenced_since=due)


def _runs_of(prompt_id: uuid.UUID) -> QuerySet[VersionRun, uuid.UUID]:
    """Their ids. Batches may have made hundreds of thousands."""
    return VersionRun.objects.filter(version__prompt=prompt_id).values_list("pk", flat=True)


def _delete_runs(prompt_id: uuid.UUID) -> None:
    """Their requests hold the texts. A run that a worker holds ends by itself: its row is gone, so nothing is kept."""
    while portion := list(_runs_of(prompt_id)[:RUNS_A_PORTION]):
        Run.objects.filter(pk__in=portion).delete()


def _forget_keys(prompt_id: uuid.UUID) -> None:
    """Or a repeated call would be answered with an object that is gone."""
    versions = Version.objects.filter(prompt=prompt_id).values("pk")
    IdempotencyKey.objects.filter(object_id__in=versions).delete()
    IdempotencyKey.objects.filter(object_id=prompt_id).delete()


def delete_objects(*, prompt_id: uuid.UUID) -> int:
    """Delete what an erased prompt has in the store, and say how much that was. May be called again at any time.

    Raises StorageUnavailable; the row then stays, and the sweep calls again.
    """
    row = ErasedObjects.objects.filter(prompt_id=prompt_id).first()
    if row is None:
        return 0
    for each in parts.unfinished(f"staging/{prompt_id}/"):
        parts.abort(each.key, each.multipart_id)
    deleted = sum(_delete_under(f"{folder}/{prompt_id}/") for folder in OBJECT_FOLDERS)
    if row.erased_at < timezone.now() - LATE_OBJECTS:
        row.delete()
    return deleted


def _delete_under(prefix: str) -> int:
    deleted, after = 0, ""
    while found := objects.page(prefix, after=after):
        for each in found:
            objects.delete(each.key)
        deleted, after = deleted + len(found), found[-1].key
    return deleted


def waiting_for_deletion() -> list[uuid.UUID]:
    """Erased prompts that may still have objects in the store, oldest first."""
    return list(ErasedObjects.objects.order_by("erased_at").values_list("prompt_id", flat=True))
