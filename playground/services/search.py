"""The words of versions, kept so that they are found. Made with the version, or from it at any later time."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence

from celery import signature
from django.contrib.postgres.search import SearchVectorField
from django.db import OperationalError, transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Cast

from core import effects
from core.errors import StorageUnavailable
from playground import freezing, words
from playground.bodies import store
from playground.models import Prompt, Version, VersionSearch

log = logging.getLogger("playground.search")

#: By name, because the task's module imports this one. In Redis a greater number is served later.
INDEX_PROMPT = signature("playground.tasks.index_prompt", options={"priority": 9})
#: Of each text, its beginning; of all texts of a version together, as much as fits.
TEXT_BYTES = 256 * 1024
#: PostgreSQL keeps at most 1 MiB of words: what does not fit is tried again with less of the texts.
TOTAL_BYTES = (1024 * 1024, 256 * 1024, 64 * 1024, 0)
#: The texts of a version up to this size, all together, are found as soon as it is saved; with more, the save would
#: take three times as long, and their words wait for the worker.
INDEXED_WHEN_SAVING_BYTES = 64 * 1024
READ_AT_ONCE_BYTES = 32 * 1024 * 1024
#: A document that takes less than the 1 MiB of words that PostgreSQL keeps, whatever is in it.
SURELY_KEPT_CHARS = 128 * 1024
_TOO_MANY_WORDS = "54000"  # SQLSTATE program_limit_exceeded


def index_version(*, version: Version, texts: Iterable[bytes]) -> None:
    """Keep the words of a version, inside the caller's transaction; what was kept before is replaced."""
    text = _beginnings(texts)
    for limit in TOTAL_BYTES:
        if _keep(version, words.document(version.message, text.encode("utf-8")[:limit].decode("utf-8", "ignore"))):
            return


def _beginnings(texts: Iterable[bytes]) -> str:
    """As many texts as fit, and no more taken from a lazy `texts` than that."""
    found, room = [], TOTAL_BYTES[0]
    for text in texts:
        start = text[: min(TEXT_BYTES, room)]
        found.append(start.decode("utf-8", "ignore"))
        room -= len(start)
        if room <= 0:
            break
    return "\n\n".join(found)


def index_saved(*, version: Version, texts: Sequence[bytes] | None) -> None:
    """Keep the words of a version in the transaction that saves it; without its texts, the worker does it soon."""
    if texts is None:
        effects.enqueue(INDEX_PROMPT, str(version.prompt_id))
    else:
        index_version(version=version, texts=texts)


def quick_document(message: str, texts: Sequence[bytes] | None) -> str | None:
    """What `index_saved` would keep, if it is so little that PostgreSQL surely takes it."""
    if texts is None:
        return None
    document = words.document(message, _beginnings(texts))
    return document if len(document) <= SURELY_KEPT_CHARS else None


def _keep(version: Version, document: str) -> bool:
    """False if there are more words than PostgreSQL takes."""
    vector = Cast(Value(document), SearchVectorField())
    try:
        with transaction.atomic():
            VersionSearch.objects.update_or_create(
                version=version, defaults={"prompt_id": version.prompt_id, "document": vector}
            )
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _TOO_MANY_WORDS:
            raise
        return False
    return True


def texts_to_index(*, prompt: Prompt, frozen: freezing.Frozen) -> list[bytes] | None:
    """The texts of a version that is about to be saved, read before its transaction; None: index it later instead."""
    given = [text.data for text in frozen.texts]
    missing = frozen.names - {text.sha256 for text in frozen.texts}
    total = sum(map(len, given))
    if missing and total <= INDEXED_WHEN_SAVING_BYTES:
        total += sum(store.lengths(prompt_id=prompt.pk, sha256s=missing).values())
    if total > INDEXED_WHEN_SAVING_BYTES:
        return None
    if not missing:
        return given
    try:
        return [*given, *store.read_bytes(prompt_id=prompt.pk, sha256s=missing).values()]
    except StorageUnavailable:
        return None


def index_missing(*, prompt_id: uuid.UUID | None = None) -> int:
    """Index the versions (of one prompt) that are not yet, and say how many."""
    missing = Version.objects.filter(search=None)
    return reindex(versions=missing.filter(prompt_id=prompt_id) if prompt_id else missing)


def reindex(*, versions: QuerySet[Version]) -> int:
    """Make the words of `versions` again, and say of how many. A damaged text keeps only its own version unfound."""
    done = 0
    for version in versions.order_by("prompt_id", "number").iterator(chunk_size=100):
        try:
            index_version(version=version, texts=_read(version))
        except StorageUnavailable:
            log.warning("version not indexed", extra={"version": str(version.pk)})
        else:
            done += 1
    return done


def _read(version: Version) -> Iterator[bytes]:
    """The texts of a version in wire order, at once if they are small, else as they are asked for."""
    names = list(dict.fromkeys(freezing.references(version.frozen)))
    small = sum(store.lengths(prompt_id=version.prompt_id, sha256s=names).values()) <= READ_AT_ONCE_BYTES
    for group in [names] if small else [[name] for name in names]:
        texts = store.read_bytes(prompt_id=version.prompt_id, sha256s=group)
        yield from (texts[name] for name in group)
