"""Spec -> what a version keeps (texts by reference), and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import rfc8785

from core.errors import InvalidInput
from playground import spec as specs
from playground.bodies import store
from playground.models import Prompt, Version


@dataclass(frozen=True, kw_only=True)
class Frozen:
    """`spec`: JSON text, texts as `{"body": sha256}`; `texts`: what they refer to; `digest`: of the canonical form."""

    spec: str
    digest: bytes
    texts: list[store.Text]


def freeze(*, prompt: Prompt, spec: specs.Spec, parent: Version | None) -> Frozen:
    """Replace each text by its reference, noting which text of `parent` stood in its place.

    Raises InvalidInput for a reference to a text this prompt does not have.
    """
    data: list[bytes] = []
    referenced: set[str] = set()

    def reference(text: Any, kind: specs.TextKind) -> dict[str, str]:
        del kind
        if isinstance(text, specs.UploadRef):
            raise InvalidInput("There is no such upload, or it is not complete.", code="no_such_upload", field="spec")
        if isinstance(text, specs.BodyRef):
            referenced.add(text.sha256)
            return {"body": text.sha256}
        data.append(text.encode("utf-8"))
        return {"body": hashlib.sha256(data[-1]).hexdigest()}

    frozen = specs.map_texts(spec.plain(), reference)
    _refuse_unknown(prompt, referenced)
    near = _in_their_place(frozen, parent.frozen if parent else None)
    return Frozen(
        spec=json.dumps(frozen, ensure_ascii=False, separators=(",", ":")),
        digest=hashlib.sha256(rfc8785.dumps(frozen)).digest(),
        texts=[store.Text(data=text, near=near.get(hashlib.sha256(text).hexdigest())) for text in data],
    )


def _in_their_place(frozen: dict[str, Any], before: dict[str, Any] | None) -> dict[str, str]:
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


def thaw(version: Version) -> dict[str, Any]:
    """The spec of a version with its texts read back. Raises StorageUnavailable."""
    frozen = version.frozen
    texts = store.read(prompt_id=version.prompt_id, sha256s=references(frozen))
    return specs.map_texts(frozen, lambda text, kind: texts[text["body"]])


def read_back(*, prompt: Prompt, spec: specs.Spec) -> dict[str, Any]:
    """A spec that is not saved, as it would read after a save. Raises as `freeze` does, and StorageUnavailable."""
    frozen = json.loads(freeze(prompt=prompt, spec=spec, parent=None).spec)
    texts = store.read(prompt_id=prompt.pk, sha256s=references(frozen))

    def resolve(text: Any, kind: specs.TextKind) -> Any:
        del kind
        return texts[text.sha256] if isinstance(text, specs.BodyRef) else text

    return specs.map_texts(spec.plain(), resolve)


def with_lengths(version: Version) -> dict[str, Any]:
    """The spec of a version with `{"body": sha256, "bytes": n}` for texts."""
    frozen = version.frozen
    sizes = store.lengths(prompt_id=version.prompt_id, sha256s=references(frozen))
    return specs.map_texts(frozen, lambda text, kind: {**text, "bytes": sizes.get(text["body"], 0)})
