"""Spec -> what a version keeps (texts by reference), and back."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import rfc8785

from accounts.models import User
from core.errors import InvalidInput
from playground import spec as specs
from playground.bodies import store
from playground.bodies.recent import recent_texts
from playground.models import Body, Prompt, Upload, Version


@dataclass(frozen=True, kw_only=True)
class Frozen:
    """What a version keeps of a spec.

    `spec`: JSON text, texts as `{"body": sha256}`; `digest`: of the canonical form; `texts`: those given in full;
    `names`: the SHA-256 of every text it refers to, given or uploaded or there before.
    """

    spec: str
    digest: bytes
    texts: list[store.Text]
    names: frozenset[str]


def freeze(*, author: User, prompt: Prompt, spec: specs.Spec, parent: Version | None) -> Frozen:
    """Replace each text by its reference, noting which text of `parent` stood in its place.

    Raises InvalidInput for a reference to a text this prompt does not have, or to an upload that is not a complete one
    of this author for this prompt. Raises StorageUnavailable if one has to be read and cannot.
    """
    given: list[store.Text] = []
    referenced: set[str] = set()
    uploaded = _uploaded(author, prompt, spec)

    def reference(text: Any, kind: specs.TextKind) -> dict[str, str]:
        del kind
        if isinstance(text, specs.UploadRef):
            return {"body": uploaded[text.upload_id]}
        if isinstance(text, specs.BodyRef):
            referenced.add(text.sha256)
            return {"body": text.sha256}
        given.append(store.Text(data=text.encode("utf-8")))
        return {"body": given[-1].sha256}

    frozen = specs.map_texts(spec.plain(), reference)
    _refuse_unknown(prompt, referenced)
    before = parent.frozen if parent else None
    _refuse_other_than_json(prompt, spec, frozen, before or {})
    near = in_their_place(frozen, before)
    return Frozen(
        spec=json.dumps(frozen, ensure_ascii=False, separators=(",", ":")),
        digest=hashlib.sha256(rfc8785.dumps(frozen)).digest(),
        texts=[replace(text, near=near.get(text.sha256)) for text in given],
        names=frozenset(references(frozen)),
    )


def _uploaded(author: User, prompt: Prompt, spec: specs.Spec) -> dict[str, str]:
    """By upload id as written: the SHA-256 of its text. Raises InvalidInput, the same for every way not to have it."""
    written: dict[str, uuid.UUID] = {}

    def collect(text: Any, kind: specs.TextKind) -> Any:
        del kind
        if isinstance(text, specs.UploadRef):
            written[text.upload_id] = _upload_id(text.upload_id)
        return text

    specs.map_texts(spec.plain(), collect)
    if not written:
        return {}
    usable = Upload.objects.complete_by(account=author, prompt=prompt, ids=set(written.values()))
    found = {pk: bytes(sha256) for pk, sha256 in usable.values_list("pk", "body_sha256") if sha256}
    kept = set(Body.objects.filter(prompt=prompt, sha256__in=found.values()).values_list("sha256", flat=True))
    there = {bytes(sha256) for sha256 in kept}
    if any(found.get(pk) not in there for pk in written.values()):
        raise _no_such_upload()
    return {text: found[pk].hex() for text, pk in written.items()}


def _upload_id(written: str) -> uuid.UUID:
    try:
        return uuid.UUID(written)
    except ValueError as error:
        raise _no_such_upload() from error


def _no_such_upload() -> InvalidInput:
    return InvalidInput("There is no such upload, or it is not complete.", code="no_such_upload", field="spec")


def in_their_place(frozen: dict[str, Any], before: dict[str, Any] | None) -> dict[str, str]:
    """By SHA-256 of each new text: the one it replaces, found by aligning both lists of texts in wire order."""
    if before is None:
        return {}
    old, new = references(before), references(frozen)
    near: dict[str, str] = {}
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace":
            near.update(zip(new[j:j_end], old[i:i_end], strict=False))
    return near


def references(frozen: dict[str, Any]) -> list[str]:
    """The SHA-256 of each text of a frozen spec, in wire order, repeats included."""
    found: list[str] = []

    def collect(text: Any, kind: specs.TextKind) -> Any:
        del kind
        found.append(text["body"])
        return text

    specs.map_texts(frozen, collect)
    return found


def _refuse_unknown(prompt: Prompt, referenced: set[str]) -> None:
    """A hash from elsewhere answers like one that exists nowhere: naming a text is no way to obtain it."""
    if referenced and len(store.lengths(prompt_id=prompt.pk, sha256s=referenced)) != len(referenced):
        raise InvalidInput("This prompt has no text with that SHA-256.", code="no_such_body", field="spec")


def _refuse_other_than_json(prompt: Prompt, spec: specs.Spec, frozen: dict[str, Any], before: dict[str, Any]) -> None:
    """A text named where JSON belongs is read and checked like one given there, unless it was there before."""
    for name in specs.JSON_FIELDS:
        given = getattr(spec, name)
        if given is not None and not isinstance(given, str) and frozen[name] != before.get(name):
            sha256 = frozen[name]["body"]
            specs.check_json(name, store.read(prompt_id=prompt.pk, sha256s=[sha256])[sha256])


def thaw(version: Version) -> dict[str, Any]:
    """The spec of a version with its texts read back. Raises StorageUnavailable."""
    frozen = version.frozen
    held = recent_texts.get_all(prompt_id=version.prompt_id, sha256s=references(frozen))
    texts = {sha256: data.decode("utf-8") for sha256, data in held.items()}
    return specs.map_texts(frozen, lambda text, kind: texts[text["body"]])


def thaw_small(version: Version, *, most: int) -> dict[str, Any]:
    """The spec of a version with its texts up to `most` bytes read back; larger ones stay `{"body", "bytes"}`."""
    frozen = version.frozen
    sizes = store.lengths(prompt_id=version.prompt_id, sha256s=references(frozen))
    texts = store.read(prompt_id=version.prompt_id, sha256s=[name for name, size in sizes.items() if size <= most])

    def resolve(text: Any, kind: specs.TextKind) -> Any:
        del kind
        return texts.get(text["body"], {**text, "bytes": sizes.get(text["body"], 0)})

    return specs.map_texts(frozen, resolve)


def read_back(*, author: User, prompt: Prompt, spec: specs.Spec) -> dict[str, Any]:
    """A spec that is not saved, as it would read after a save. Raises as `freeze` does, and StorageUnavailable."""
    plain = spec.plain()
    names = references(json.loads(freeze(author=author, prompt=prompt, spec=spec, parent=None).spec))
    kept: set[str] = set()
    places = iter(names)

    def collect(text: Any, kind: specs.TextKind) -> Any:
        del kind
        name = next(places)
        if not isinstance(text, str):
            kept.add(name)
        return text

    def resolve(text: Any, kind: specs.TextKind) -> Any:
        del kind
        name = next(places)
        return text if isinstance(text, str) else texts[name]

    specs.map_texts(plain, collect)
    texts = store.read(prompt_id=prompt.pk, sha256s=kept)
    places = iter(names)
    return specs.map_texts(plain, resolve)


def with_lengths(version: Version) -> dict[str, Any]:
    """The spec of a version with `{"body": sha256, "bytes": n}` for texts."""
    frozen = version.frozen
    sizes = store.lengths(prompt_id=version.prompt_id, sha256s=references(frozen))
    return specs.map_texts(frozen, lambda text, kind: {**text, "bytes": sizes.get(text["body"], 0)})
