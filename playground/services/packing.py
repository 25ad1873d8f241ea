"""The work behind a completed upload: read the staged bytes, hash and check them ourselves, store them as a text.

May run any number of times for one upload, also at once, and die anywhere: the row changes only in the transaction that
makes the text usable, and a second run finds nothing to do.
"""

from __future__ import annotations

import codecs
import hashlib
import threading
import uuid

from django.db import transaction
from django.utils import timezone

from core import effects
from playground.bodies import objects, store
from playground.models import Upload

#: Packing holds a text several times over in memory; so many at once in one worker process.
_AT_ONCE = threading.BoundedSemaphore(2)


class Busy(Exception):
    """This process packs as much at once as it may."""


class Refusal(Exception):
    """Why an upload can never become a text. `position`: of the first byte that is not UTF-8."""

    def __init__(self, code: str, *, position: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.position = position


def pack_upload(*, upload_id: uuid.UUID) -> None:
    """Make the text of an upload that is `processing`, or say why not. Raises StorageUnavailable, Busy: try later."""
    upload = Upload.objects.select_related("prompt").filter(pk=upload_id, status=Upload.Status.PROCESSING).first()
    if upload is None:
        return
    if not _AT_ONCE.acquire(blocking=False):
        raise Busy
    try:
        data = _received(upload)
    except Refusal as refusal:
        _refuse(upload, refusal)
    else:
        _keep(upload, data)
    finally:
        _AT_ONCE.release()


def _received(upload: Upload) -> bytes:
    """The staged bytes, if they are what was declared. Raises Refusal, StorageUnavailable.

    A store that failed to hold the sender to length and hash is found out here; nothing is believed.
    """
    digest, text, data = hashlib.sha256(), Utf8(), bytearray()
    try:
        for piece in objects.chunks(upload.staging_key):
            digest.update(piece)
            text.feed(piece)
            data += piece
            if len(data) > upload.size:
                raise Refusal("wrong_length")
    except objects.ObjectMissing as error:
        raise Refusal("not_uploaded") from error
    if len(data) != upload.size:
        raise Refusal("wrong_length")
    if digest.digest() != bytes(upload.sha256):
        raise Refusal("wrong_hash")
    if (position := text.first_bad_byte()) is not None:
        raise Refusal("invalid_utf8", position=position)
    return bytes(data)


class Utf8:
    """Strict UTF-8, fed piece by piece, in memory of one piece: as a `str`, 64 MiB may take four times that."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._fed = 0
        self._bad: int | None = None

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        if self._bad is not None:
            return
        held_over = len(self._decoder.getstate()[0])  # the start of a character cut by the last piece
        try:
            self._decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            self._bad = self._fed - held_over + error.start
        self._fed += len(piece)

    def first_bad_byte(self) -> int | None:
        """After the last piece: where the first byte is that belongs to no character; None if all do."""
        self.feed(b"", last=True)
        return self._bad


def _refuse(upload: Upload, refusal: Refusal) -> None:
    with transaction.atomic():
        Upload.objects.filter(pk=upload.pk, status=Upload.Status.PROCESSING).update(
            status=Upload.Status.FAILED,
            error_code=refusal.code,
            error_position=refusal.position,
            completed_at=timezone.now(),
        )
        effects.after_commit(objects.delete, upload.staging_key)


def _keep(upload: Upload, data: bytes) -> None:
    near = bytes(upload.near).hex() if upload.near else None
    staged = store.stage_anew(prompt=upload.prompt, text=store.Text(data=data, near=near))
    with transaction.atomic():
        now = timezone.now()
        mine = store.commit_unreferenced(prompt=upload.prompt, staged=staged, now=now)
        Upload.objects.filter(pk=upload.pk, status=Upload.Status.PROCESSING).update(
            status=Upload.Status.COMPLETE, body_sha256=staged.encoded.sha256, completed_at=now
        )
        effects.after_commit(objects.delete, upload.staging_key)
        if not mine:
            effects.after_commit(objects.delete, staged.object_key)
