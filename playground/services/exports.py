"""A prompt with its whole tree as one file. `playground.interchange` knows the format."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from django.db.models import QuerySet

from accounts.models import User
from playground import freezing
from playground.bodies import store
from playground.interchange import archive
from playground.interchange.manifest import FORMAT, FORMAT_VERSION
from playground.models import Branch, BranchMove, Label, LabelMove, Prompt, Version

#: How many bytes of texts are unpacked at once.
BATCH_BYTES = 32 * 1024 * 1024


def export_prompt(*, prompt: Prompt) -> IO[bytes]:
    """The zip file, for the caller to close. The same prompt gives the same bytes. Raises StorageUnavailable.

    It is written whole before any of it is sent: an answer that begins well must not end as half a file.
    """
    versions = list(Version.objects.filter(prompt=prompt).select_related("author").order_by("number"))
    manifest = json.dumps(_manifest(prompt, versions), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    names = {name for version in versions for name in freezing.references(version.frozen)}
    return archive.write(manifest, _bodies(prompt, sorted(names)))


def _manifest(prompt: Prompt, versions: Iterable[Version]) -> dict[str, Any]:
    numbers = {version.pk: version.number for version in versions}
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "prompt": {name: getattr(prompt, name) for name in ("name", "description", "tags", "folder")},
        "versions": [
            {
                "number": version.number,
                "parent": numbers.get(version.parent_id) if version.parent_id else None,
                "merged_parent": numbers.get(version.merged_parent_id) if version.merged_parent_id else None,
                "message": version.message,
                "author": _label(version.author),
                "created_at": _moment(version.created_at),
                "digest": version.digest_hex,
                "spec": version.frozen,
            }
            for version in versions
        ],
        "branches": _branches(prompt),
        "labels": _labels(prompt),
    }


def _branches(prompt: Prompt) -> list[dict[str, Any]]:
    moves = _by_pointer(BranchMove.objects.filter(prompt=prompt), "branch_id")
    rows = Branch.objects.filter(prompt=prompt).select_related("head").order_by("name")
    return [{"name": row.name, "head": row.head.number, "moves": moves.get(row.pk, [])} for row in rows]


def _labels(prompt: Prompt) -> list[dict[str, Any]]:
    moves = _by_pointer(LabelMove.objects.filter(prompt=prompt), "label_id")
    rows = Label.objects.filter(prompt=prompt).select_related("version").order_by("name")
    return [
        {"name": row.name, "version": row.version.number if row.version else None, "moves": moves.get(row.pk, [])}
        for row in rows
    ]


def _by_pointer(rows: QuerySet[Any], pointer: str) -> dict[Any, list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for move in rows.select_related("actor", "from_version", "to_version").order_by("id"):
        found.setdefault(getattr(move, pointer), []).append(
            {
                "from": move.from_version.number if move.from_version else None,
                "to": move.to_version.number if move.to_version else None,
                "actor": _label(move.actor),
                "created_at": _moment(move.created_at),
            }
        )
    return found


def _bodies(prompt: Prompt, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each text under its name, in the given order, unpacked a batch at a time."""
    for batch in _batches(names, store.lengths(prompt_id=prompt.pk, sha256s=names)):
        texts = store.read_bytes(prompt_id=prompt.pk, sha256s=batch)
        yield from ((name, texts[name]) for name in batch)


def _batches(names: list[str], lengths: dict[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    room = BATCH_BYTES
    for name in names:
        if batch and lengths.get(name, 0) > room:
            yield batch
            batch, room = [], BATCH_BYTES
        batch.append(name)
        room -= lengths.get(name, 0)
    if batch:
        yield batch


def _label(person: User | None) -> str | None:
    return person.label if person else None


def _moment(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat()
