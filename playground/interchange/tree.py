"""The versions of a file as they will be kept: every spec checked and hashed again, nothing taken on trust."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import rfc8785

from core.errors import InvalidInput
from playground import spec as specs
from playground.freezing import in_their_place, references
from playground.interchange.manifest import Entry

Key = TypeVar("Key")
_JSON_TEXTS: tuple[str, ...] = ("tools", "output_schema")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A version of a file. `json_texts`: which of its texts must be JSON, by field (`tools`, `output_schema`)."""

    entry: Entry
    model: str
    frozen: dict[str, Any]
    digest: bytes
    json_texts: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The SHA-256 of its texts, in wire order."""
        return references(self.frozen)

    @property
    def spec(self) -> str:
        return json.dumps(self.frozen, ensure_ascii=False, separators=(",", ":"))


def read_nodes(entries: Sequence[Entry], *, known: frozenset[str]) -> list[Node]:
    """Raises InvalidInput for a spec that is none, a text that is not in the file, or a digest of something else."""
    return [_node(entry, f"versions.{index}", known) for index, entry in enumerate(entries)]


def _node(entry: Entry, where: str, known: frozenset[str]) -> Node:
    spec = specs.parse(entry.spec, field=f"{where}.spec", is_new=False)

    def reference(text: Any, kind: specs.TextKind) -> dict[str, str]:
        del kind
        if not isinstance(text, specs.BodyRef) or text.sha256 not in known:
            raise InvalidInput('Each text is {"body": sha256} of a text in the file.', field=f"{where}.spec")
        return {"body": text.sha256}

    frozen = specs.map_texts(spec.plain(), reference)
    digest = _digest(frozen, where)
    if digest.hex() != entry.digest:
        raise InvalidInput("This version is not the one its digest says.", code="damaged_file", field=f"{where}.digest")
    json_texts = {name: str(frozen[name]["body"]) for name in _JSON_TEXTS if name in frozen}
    return Node(entry=entry, model=spec.model, frozen=frozen, digest=digest, json_texts=json_texts)


def _digest(frozen: dict[str, Any], where: str) -> bytes:
    try:
        return hashlib.sha256(rfc8785.dumps(frozen)).digest()
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput(f"A number has no JSON form all readers agree on: {error}.", field=where) from error


def near(nodes: Sequence[Node]) -> dict[str, str]:
    """By SHA-256 of each text: the one it was made from in its version's parent."""
    by_number = {node.entry.number: node for node in nodes}
    found: dict[str, str] = {}
    for node in nodes:
        parent = by_number.get(node.entry.parent or 0)
        for name, before in in_their_place(node.frozen, parent.frozen if parent else None).items():
            found.setdefault(name, before)
    return found


@dataclass(frozen=True, kw_only=True)
class Existing(Generic[Key]):
    """A version that the prompt has already."""

    key: Key
    digest: bytes
    parents: tuple[Key | None, Key | None]


def match(nodes: Sequence[Node], existing: Iterable[Existing[Key]]) -> dict[int, Key]:
    """By number in the file: the version that the prompt has of it already.

    The same content on the same parents is the same version. Twins (a thing saved twice on one parent) are matched in
    their order, so that two of them in the file are two in the prompt.
    """
    waiting: dict[tuple[bytes, Key | None, Key | None], list[Key]] = {}
    for version in existing:
        waiting.setdefault((version.digest, *version.parents), []).append(version.key)
    found: dict[int, Key] = {}
    for node in nodes:
        entry = node.entry
        numbers = [number for number in (entry.parent, entry.merged_parent) if number is not None]
        if all(number in found for number in numbers):
            twins = waiting.get((node.digest, _of(found, entry.parent), _of(found, entry.merged_parent)), [])
            if twins:
                found[entry.number] = twins.pop(0)
    return found


def _of(found: Mapping[int, Key], number: int | None) -> Key | None:
    return None if number is None else found[number]
