"""The work behind an import in the worker: read the staged file, check it, store its texts, graft its versions.

May run any number of times for one import, also at once, and die anywhere. The row belongs to the worker whose claim it
bears; texts that are stored stay stored for the next one, and the versions come with one transaction that also ends the
import. Until then the prompt is marked as being imported, and nobody sees it.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import uuid
from collections.abc import Sequence
from typing import IO, Any

from django.utils import timezone

from core.errors import DomainError, InvalidInput, NotFound, StorageUnavailable
from core.parsers import parse_json
from playground.bodies import objects
from playground.interchange.archive import Archive, InlineTexts, Texts
from playground.interchange.manifest import Manifest, check, is_manifest
from playground.models import FileImport, Prompt, Version
from playground.services import file_imports, staging
from playground.services.imports import Checked, check_file, fill, hidden_prompt
from playground.services.packing import Busy

#: An import takes a thread of the worker for minutes; the others are for uploads that somebody waits for.
_AT_ONCE = threading.BoundedSemaphore(1)
_SPOOLED = 16 * 1024 * 1024
#: How often a running import says how far it is, at most.
STEP_S = 0.5


class _Lost(Exception):
    """The import is somebody else's now, or was cancelled."""


def run_import(*, import_id: uuid.UUID) -> None:
    """Take in a queued file, or say why not. Raises StorageUnavailable, Busy: try later."""
    if not _AT_ONCE.acquire(blocking=False):
        raise Busy
    try:
        claim = uuid.uuid4()
        queued = FileImport.objects.filter(pk=import_id, status=FileImport.Status.QUEUED)
        if queued.update(status=FileImport.Status.RUNNING, claim=claim, seen_at=timezone.now()):
            _run(Claimed(FileImport.objects.select_related("account", "into", "prompt").get(pk=import_id), claim))
    finally:
        _AT_ONCE.release()


class Claimed:
    """An import as the worker that has it sees it: every change names the claim. Each raises `_Lost` if it is gone."""

    def __init__(self, row: FileImport, claim: uuid.UUID) -> None:
        self.row = row
        self.claim = claim
        self._said_at = timezone.now()

    def change(self, **values: Any) -> None:
        mine = FileImport.objects.filter(pk=self.row.pk, claim=self.claim)
        if not mine.update(seen_at=timezone.now(), **values):
            raise _Lost

    def stored(self, versions: int) -> None:
        """The texts of so many versions are stored."""
        now = timezone.now()
        if (now - self._said_at).total_seconds() >= STEP_S:
            self._said_at = now
            self.change(versions_read=versions)

    def seal(self, prompt: Prompt, made: Sequence[Version]) -> None:
        """In the transaction that makes the versions: they and the end of the import come together."""
        self.change(
            status=FileImport.Status.DONE,
            claim=None,
            prompt=prompt,
            versions_read=self.row.versions_total,
            versions_made=len(made),
            ended_at=timezone.now(),
        )
        staging.drop(self.row)


def _run(work: Claimed) -> None:
    try:
        with tempfile.SpooledTemporaryFile(max_size=_SPOOLED) as file:
            _fetch(work.row, file)
            _take_in(work, *_opened(work.row, file))
    except StorageUnavailable:
        _give_back(work)
        raise
    except DomainError as error:
        file_imports.end(work.row, error.code, error.message, claim=work.claim)
    except _Lost:
        # Cancelled, or another worker has it: that one goes on with what is stored.
        row = FileImport.objects.filter(pk=work.row.pk).first()
        if row is not None and row.status == FileImport.Status.FAILED:
            file_imports.discard(row)
    except Exception:
        file_imports.end(work.row, "unexpected", "Something went wrong here. Nothing was made.", claim=work.claim)
        raise


def _give_back(work: Claimed) -> None:
    """The next one goes on with what is stored."""
    mine = FileImport.objects.filter(pk=work.row.pk, claim=work.claim)
    mine.update(status=FileImport.Status.QUEUED, claim=None, seen_at=timezone.now())


def _fetch(row: FileImport, file: IO[bytes]) -> None:
    """The staged bytes, if they are what was declared: the store is not believed. Raises InvalidInput."""
    digest, length = hashlib.sha256(), 0
    try:
        for piece in objects.chunks(row.staging_key):
            digest.update(piece)
            length += file.write(piece)
            if length > row.size:
                break
    except objects.ObjectMissing as error:
        raise InvalidInput("The file was gone before it was read. Send it again.", code="not_uploaded") from error
    if length != row.size or digest.digest() != bytes(row.sha256):
        raise InvalidInput("What arrived is not the file that was announced. Send it again.", code="wrong_hash")
    file.seek(0)


def _opened(row: FileImport, file: IO[bytes]) -> tuple[Manifest, Texts]:
    """Raises InvalidInput, TooLarge."""
    if row.format == FileImport.Format.ZIP:
        archive = Archive(file)
        return check(parse_json(archive.manifest)), archive
    value = parse_json(file.read())
    if not is_manifest(value):
        raise InvalidInput("This file is no export of a prompt.", code="not_an_export", field="file")
    bodies = value.get("bodies")
    return check(value), InlineTexts(bodies if isinstance(bodies, dict) else {})


def _take_in(work: Claimed, manifest: Manifest, texts: Texts) -> None:
    row = work.row
    checked: Checked = check_file(manifest, texts)
    row.versions_total = len(checked.nodes)
    if row.into is not None and not row.account.has_perm("playground.change_prompt", row.into):
        raise NotFound
    prompt = row.into or row.prompt
    if prompt is None:
        prompt = hidden_prompt(row.account, checked)
        try:
            work.change(prompt=prompt)
        except _Lost:
            prompt.delete()
            raise
    work.change(name=checked.lines["name"], versions_total=row.versions_total)
    fill(actor=row.account, prompt=prompt, file=checked, seal=work.seal, stored=work.stored)
